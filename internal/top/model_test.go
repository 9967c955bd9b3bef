package top

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/journal"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The frames that a person sees, at three sizes, without colour.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{40, 20}, {80, 24}, {160, 30}} {
		for _, c := range []struct{ name, keys string }{
			{"floor", ""},
			{"agents", "tab j"},
			{"filtered", "/ r e t r y enter"},
			{"question", "j enter"},
			{"confirm", "j enter 1"},
			{"answer", "j enter m N o alt+enter w a i t"},
			{"decided", "j enter 1 y"},
			{"release", "j j enter"},
			{"letter", "tab tab enter"},
			{"thread", "j enter t"},
			{"agent", "tab j enter"},
			{"keys", "?"},
		} {
			m := press(screenOf(newFake(), size[0], size[1], false), c.keys)
			if c.name == "release" {
				m = screenOf(&fake{question: Question{Approval: &floor().Waiting[2]}}, size[0], size[1], false)
				m = press(m, c.keys)
			}
			lines := m.screen()
			if len(lines) != size[1] {
				t.Errorf("%s at %v: %d lines", c.name, size, len(lines))
			}
			for _, l := range lines {
				if n := width(l); n > size[0] {
					t.Errorf("%s at %v: %d columns: %s", c.name, size, n, l)
				}
			}
			golden(t, fmt.Sprintf("%s-%d.golden", c.name, size[0]), ansi.Strip(trimmed(lines)))
		}
	}
}

func trimmed(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(ansi.Strip(l), " ") + "\n")
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s is not as it was (go test -update writes it anew): %v\n%s", name, err, got)
	}
}

// Every size draws whole lines and no more than there are.
func TestEverySize(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"", "z", "j enter", "j enter 1", "j enter m a", "tab tab enter", "?", "tab enter"} {
		for w := 1; w <= 170; w += 7 {
			for h := 1; h <= 40; h += 3 {
				m := send(press(screenOf(newFake(), 80, 24, true), keys), tea.WindowSizeMsg{Width: w, Height: h})
				lines := m.screen()
				if len(lines) != h {
					t.Fatalf("%q at %d×%d: %d lines", keys, w, h, len(lines))
				}
				for _, l := range lines {
					if width(l) > w {
						t.Fatalf("%q at %d×%d: %q", keys, w, h, l)
					}
				}
				if c := m.cursor(); c != nil && (c.X < 0 || c.Y < 0 || c.Y >= h) && h > 6 {
					t.Fatalf("%q at %d×%d: cursor %v", keys, w, h, c.Position)
				}
			}
		}
	}
}

// What keys do on the floor.
func TestFloorKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys  string
		focus pane
		index int
		open  string // kinds of the pages
		quits bool
	}{
		{"", waiting, 0, "", false},
		{"tab", agents, 0, "", false},
		{"tab tab tab tab", waiting, 0, "", false},
		{"shift+tab", overdue, 0, "", false},
		{"right right left", agents, 0, "", false},
		{"j j k", waiting, 1, "", false},
		{"G", waiting, 2, "", false},
		{"G g", waiting, 0, "", false},
		{"down down down down down", waiting, 2, "", false},
		{"k", waiting, 0, "", false},
		{"space", waiting, 2, "", false},
		{"1", waiting, 0, "", false}, // what nobody has read is not decided
		{"y", waiting, 0, "", false},
		{"enter", waiting, 0, "2", false},
		{"tab enter", agents, 0, "3", false},
		{"tab tab enter", moving, 0, "0", false},
		{"tab tab j enter", moving, 1, "2", false},
		{"shift+tab enter", overdue, 0, "0", false},
		{"enter t o esc esc esc", waiting, 0, "", false},
		{"enter t", waiting, 0, "21", false},
		{"enter o t", waiting, 0, "201", false},
		{"? esc", waiting, 0, "", false},
		{"? ?", waiting, 0, "4", false},
		{"q", waiting, 0, "", true},
		{"enter q", waiting, 0, "2", true},
		{"ctrl+c", waiting, 0, "", true},
		{"/ q enter", waiting, 0, "", false},
		{"/ ctrl+c", waiting, 0, "", true},
	} {
		m := screenOf(newFake(), 80, 24, false)
		quits := false
		for _, k := range strings.Fields(c.keys) {
			next, cmd := m.Update(keyOf(k))
			if m = next.(Model); cmd == nil {
				continue
			}
			switch msg := cmd().(type) {
			case tea.QuitMsg:
				quits = true
			case foundMsg:
				m = send(m, msg)
			}
		}
		open := ""
		for _, p := range m.pages {
			open += fmt.Sprint(int(p.kind))
		}
		if m.focus != c.focus || m.at[m.focus].index != c.index || open != c.open || quits != c.quits {
			t.Errorf("%s: focus %d, row %d, pages %q, quits %v", c.keys, m.focus, m.at[m.focus].index, open, quits)
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	m := press(screenOf(newFake(), 80, 24, false), "/ R e t r")
	wants(t, "as it is typed", m, "/Retr", "Re: retry loop", "Review the ret", "nothing fits the filter")
	if strings.Contains(shown(m), "Ship it") {
		t.Error("what does not fit is shown")
	}
	m = press(m, "enter")
	wants(t, "kept", m, "filter: Retr")
	if m = press(m, "esc"); strings.Contains(shown(m), "filter:") {
		t.Error("the filter stays")
	}
	if m = press(m, "/ x backspace esc"); m.filter.String() != "" || m.filtering {
		t.Error("Esc leaves the filter")
	}
}

// The cursor stays on its row, whatever comes in before or goes.
func TestCursorFollowsItsRow(t *testing.T) {
	t.Parallel()
	m := press(screenOf(newFake(), 80, 24, false), "tab tab j")
	was := m.at[moving].key
	f := floor()
	f.Moves = append([]Move{{At: noon(), N: 9, Event: journal.Delivered, ID: oldID, From: "runner", To: []string{"coder"}}}, f.Moves...)
	m = send(m, floorMsg(f))
	if m.at[moving].key != was || m.at[moving].index != 2 {
		t.Errorf("%+v, was %s", m.at[moving], was)
	}
	m = press(m, "g")
	f.Moves = append([]Move{{At: noon(), N: 10, Event: journal.Delivered, ID: askID, From: "runner", To: []string{"coder"}}}, f.Moves...)
	if m = send(m, floorMsg(f)); m.at[moving].index != 0 {
		t.Error("what comes in at the top is not seen")
	}
	f.Waiting = nil
	if m = send(m, floorMsg(f)); m.at[waiting].index != 0 {
		t.Errorf("%+v", m.at[waiting])
	}
	wants(t, "nothing waits", m, "Waiting for you nothing", "nothing waits for you")
}

// Nothing is decided but by y behind a question, and once.
func TestDeciding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys string
		want string // choice, verdict and text of each decision
		says string
	}{
		{"enter 1", "", "Answer coder: yes?"},
		{"enter 1 enter", "", "nothing was decided"},
		{"enter 1 esc", "", "nothing was decided"},
		{"enter 1 2", "", "nothing was decided"},
		{"enter 1 q", "", "nothing was decided"},
		{"enter 3", "", "say no"},
		{"enter y", "", "say no"},
		{"enter 2 y", "no||", "coder has the answer"},
		{"enter 1 y y y", "yes||", "answered by human at 2026-11-30 12:00 UTC: yes"},
		{"enter x y", "|rejected|", "coder has the answer"},
		{"enter m enter", "", "answer in words"},
		{"enter m L a t e r enter y", "||Later", "coder has the answer"},
		{"enter m y enter esc", "", "nothing was decided"},
		{"enter m a esc", "", "answer in words"},
		{"enter 1 m o k enter y", "yes||ok", "coder has the answer"},
		{"enter 1 m o k esc y", "yes||", "coder has the answer"},
		{"enter 1 y 2 y", "yes||", "coder has the answer"},
	} {
		d := newFake()
		m := press(screenOf(d, 80, 24, false), "j "+c.keys)
		var got []string
		for _, x := range d.decided {
			got = append(got, x.Choice+"|"+string(x.Verdict)+"|"+x.Text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: decided %q, want %q", c.keys, got, c.want)
		}
		// The note is gone with the next key; what was decided stays.
		if text := shown(m); !strings.Contains(text, c.says) && !strings.Contains(text, "answered by human") {
			t.Errorf("%s: no %q in\n%s", c.keys, c.says, text)
		}
	}
}

// While it is being decided, keys mean nothing.
func TestDecidingTakesTime(t *testing.T) {
	t.Parallel()
	d := newFake()
	m := press(screenOf(d, 80, 24, false), "j enter 1")
	next, cmd := m.Update(keyOf("y"))
	m = press(next.(Model), "y enter 2 esc")
	wants(t, "under way", m, "deciding…")
	if m = send(m, cmd()); len(d.decided) != 1 {
		t.Errorf("%d decisions", len(d.decided))
	}
	wants(t, "done", m, "answered by human")
}

// A notice is closed, a release let through or stopped: neither takes words.
func TestKindsOfApprovals(t *testing.T) {
	t.Parallel()
	for i, c := range []struct{ keys, want string }{
		{"enter c y", "||"}, {"enter m y", ""}, {"enter x y", ""}, {"enter 1 y", ""},
	} {
		d := &fake{question: Question{Approval: &floor().Waiting[0]}}
		press(screenOf(d, 80, 24, false), c.keys)
		if n := len(d.decided); n > 0 != (c.want != "") {
			t.Errorf("%d: a notice with %s: %v", i, c.keys, d.decided)
		}
	}
	for _, c := range []struct{ keys, want string }{
		{"j j enter 1 y", "deliver"}, {"j j enter 2 y", "stop"}, {"j j enter m y", "-"}, {"j j enter c y", "-"},
	} {
		d := &fake{question: Question{Approval: &floor().Waiting[2]}}
		press(screenOf(d, 80, 24, false), c.keys)
		if len(d.decided) == 0 != (c.want == "-") || len(d.decided) == 1 && d.decided[0].Choice != c.want {
			t.Errorf("a release with %s: %v", c.keys, d.decided)
		}
	}
}

// What was decided elsewhere meanwhile is said, with who and when, and can't be
// decided any more.
func TestDecidedElsewhere(t *testing.T) {
	t.Parallel()
	d := newFake()
	d.first = &approval.Decision{Choice: "no", By: "human", At: noon(), Verdict: approval.VerdictRejected}
	m := press(screenOf(d, 80, 24, false), "j enter 1 y")
	wants(t, "too late", m, "not decided by you: rejected by human at 2026-11-30 11:59 UTC; the first\ndecision stands", "rejected by human at 2026-11-30 12:00 UTC: no")
	if press(m, "1 y"); len(d.decided) != 1 {
		t.Error("decided again")
	}

	d = newFake()
	m = press(screenOf(d, 80, 24, false), "j enter")
	d.question.Decision = &approval.Decision{Choice: "no", By: "human", At: noon(), Verdict: approval.VerdictRejected}
	f := floor()
	f.Waiting = f.Waiting[:1]
	next, cmd := m.Update(floorMsg(f))
	m = next.(Model)
	m = send(m, cmd().(tea.BatchMsg)[1]()) // the first waits for the next floor
	wants(t, "seen at once", m, "rejected by human at 2026-11-30 12:00 UTC: no")
}

func TestFaultsAreShown(t *testing.T) {
	t.Parallel()
	d := newFake()
	d.fail = errors.New("approvals/x: it is gone; run \"post doctor\"")
	m := press(screenOf(d, 80, 24, false), "j enter")
	wants(t, "a page", m, "it is gone")
	f := floor()
	f.Faults = []string{"the journal\x1b[2J is torn"}
	m = send(screenOf(newFake(), 80, 24, false), floorMsg(f))
	wants(t, "the floor", m, "the journal␛[2J is torn")
	m = send(m, lostMsg{})
	wants(t, "nothing new", m, "start post top again")
}
