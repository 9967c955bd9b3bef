package identity

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
)

type book []registry.Entry

func (b book) Entry(name string) (registry.Entry, bool) {
	return b.first(func(e registry.Entry) bool { return e.Name == name || slices.Contains(e.Aliases, name) })
}
func (b book) EntryByAID(aid string) (registry.Entry, bool) {
	return b.first(func(e registry.Entry) bool { return e.AID == aid })
}
func (b book) first(is func(registry.Entry) bool) (registry.Entry, bool) {
	if i := slices.IndexFunc(b, is); i >= 0 {
		return b[i], true
	}
	return registry.Entry{}, false
}
func (b book) Ours() []registry.Entry {
	return slices.DeleteFunc(slices.Clone(b), func(e registry.Entry) bool { return e.Station != "" })
}
func (b book) Suggest(name string) []string {
	var names []string
	for _, e := range b {
		names = append(names, e.Name)
	}
	return mail.Suggest(name, names)
}

func as(runtime string, oneShot bool) func() (string, bool) {
	return func() (string, bool) { return runtime, oneShot }
}

func TestResolve(t *testing.T) {
	t.Parallel()
	b := book{
		{AID: "1", Name: "coder", Workspace: "/w", Runtime: "claude"},
		{AID: "2", Name: "tester", Workspace: "/w/sub", Aliases: []string{"qa"}},
		{AID: "3", Name: "one", Workspace: "/two"},
		{AID: "4", Name: "two", Workspace: "/two"},
		{AID: "5", Name: "old", Workspace: "/old", Archived: true},
		{AID: "6", Name: "cc", Workspace: "/mixed", Runtime: "claude"},
		{AID: "7", Name: "cx", Workspace: "/mixed", Runtime: "codex"},
		{AID: "8", Name: "ann", Workspace: "/a.b"},
	}
	bind := func(aid, name string) config.Binding { return config.Binding{Office: "/o", Agent: aid, Name: name} }
	for _, c := range []struct {
		name  string
		claim Claim
		want  string
		kind  mail.Kind
		says  string
	}{
		{"the workspace", Claim{Dir: "/w"}, "coder", "", ""},
		{"below it", Claim{Dir: "/w/other/deep"}, "coder", "", ""},
		{"the nearest", Claim{Dir: "/w/sub/x"}, "tester", "", ""},
		{"a directory that begins alike", Claim{Dir: "/w2"}, "", mail.KindIdentity, `run "post join NAME" here, or say --as NAME (coder, tester, `},
		{"nobody", Claim{Dir: "/"}, "", mail.KindIdentity, "no agent works in /"},
		{"names are no patterns", Claim{Dir: "/aXb"}, "", mail.KindIdentity, ""},
		{"several", Claim{Dir: "/two"}, "", mail.KindAmbiguous, "one, two; say which one with --as one"},
		{"several, told apart by --as", Claim{Dir: "/two", As: "two"}, "two", "", ""},
		{"several, told apart by the environment", Claim{Dir: "/two", Env: "one"}, "one", "", ""},
		{"several, told apart by the runtime", Claim{Dir: "/mixed", Surroundings: as("codex", false)}, "cx", "", ""},
		{"another runtime's workspace", Claim{Dir: "/w/x", Surroundings: as("codex", false)}, "", mail.KindIdentity, "is of another runtime"},
		{"an agent without a runtime suits all", Claim{Dir: "/w/sub", Surroundings: as("codex", false)}, "tester", "", ""},
		{"archived", Claim{Dir: "/old"}, "", mail.KindIdentity, ""},
		{"archived by name", Claim{Dir: "/", As: "old"}, "", mail.KindIdentity, "agent unarchive old"},
		{"an alias", Claim{As: "qa"}, "tester", "", ""},
		{"agent.NAME", Claim{As: "agent.coder"}, "coder", "", ""},
		{"--as before the environment", Claim{As: "one", Env: "two"}, "one", "", ""},
		{"a typo", Claim{As: "codr"}, "", mail.KindIdentity, "did you mean coder?"},
		{"reserved", Claim{As: "broadcast"}, "", mail.KindIdentity, ""},
		{"the office itself", Claim{As: "postroom"}, "", mail.KindIdentity, ""},
		{"human from the environment only", Claim{Env: "human"}, "", mail.KindIdentity, ""},
		{"a person", Claim{As: "human", Session: bind("1", "coder")}, "human", "", ""},
		{"the session", Claim{Dir: "/two", Session: bind("1", "coder")}, "coder", "", ""},
		{"the session and its own name", Claim{As: "qa", Env: "tester", Session: bind("2", "tester")}, "tester", "", ""},
		{"--as against the session", Claim{As: "coder", Session: bind("2", "tester")}, "", mail.KindIdentity, "disagrees with this session, which is tester"},
		{"the environment against the session", Claim{Env: "coder", Session: bind("2", "tester")}, "", mail.KindIdentity, "$POSTROOM_AGENT disagrees"},
		{"an unknown name against the session", Claim{As: "ghost", Session: bind("2", "tester")}, "", mail.KindIdentity, ""},
		{"a binding to nobody", Claim{Dir: "/w", Session: bind("99", "gone")}, "", mail.KindIdentity, "gone"},
		{"a binding to the archived", Claim{Dir: "/w", Session: bind("5", "old")}, "", mail.KindIdentity, "archived"},
		{"a one-shot run", Claim{Dir: "/w", Surroundings: as("claude", true)}, "", mail.KindIdentity, "one-shot"},
		{"a one-shot run that says who", Claim{Dir: "/w", Surroundings: as("claude", true), As: "coder"}, "coder", "", ""},
		{"a one-shot run that is bound", Claim{Surroundings: as("claude", true), Session: bind("1", "coder")}, "coder", "", ""},
	} {
		c.claim.Book = b
		me, err := Resolve(c.claim)
		if c.kind != "" {
			if err == nil || mail.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %s with %q", c.name, err, c.kind, c.says)
			}
			continue
		}
		if err != nil || me.Name() != c.want || me.How == "" {
			t.Errorf("%s: %s (%s), %v", c.name, me.Name(), me.How, err)
		}
	}
}

func TestFindOffice(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(p string) string { return filepath.Join(root, p) }
	for _, d := range []string{"ws/deep", "local/.postroom", "local/deep", "flag"} {
		if err := os.MkdirAll(in(d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(in("flag"), in("link")); err != nil {
		t.Fatal(err)
	}
	q := func(dir string, change func(*OfficeQuery)) OfficeQuery {
		q := OfficeQuery{Dir: in(dir), Workspace: func(d string) string {
			if strings.HasPrefix(d, in("ws")) {
				return in("bound")
			}
			return ""
		}, Default: func() string { return in("default") }}
		if change != nil {
			change(&q)
		}
		return q
	}
	for _, c := range []struct {
		name string
		q    OfficeQuery
		want string
	}{
		{"default", q("flag", nil), "default"},
		{"local", q("local/deep", nil), "local/.postroom"},
		{"workspace", q("ws/deep", nil), "bound"},
		{"session", q("ws", func(q *OfficeQuery) { q.Session = in("s") }), "s"},
		{"environment", q("ws", func(q *OfficeQuery) { q.Session, q.Env = in("s"), "../e" }), "e"},
		{"flag", q("ws", func(q *OfficeQuery) { q.Env, q.Flag = "e", "../flag/." }), "flag"},
		{"a symlink is resolved once", q("ws", func(q *OfficeQuery) { q.Flag = in("link") }), "flag"},
		{"below a symlink, not there yet", q("ws", func(q *OfficeQuery) { q.Flag = in("link/new/x") }), "flag/new/x"},
	} {
		dir, why, err := FindOffice(c.q)
		if err != nil || dir != in(c.want) || why == "" {
			t.Errorf("%s: %s (%s), %v", c.name, dir, why, err)
		}
	}
	none := q("flag", func(q *OfficeQuery) { q.Default = func() string { return "" } })
	if _, _, err := FindOffice(none); mail.KindOf(err) != mail.KindNotFound {
		t.Errorf("%v", err)
	}
}
