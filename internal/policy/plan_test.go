package policy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

var record = flag.Bool("record", false, "write the plans into testdata instead of comparing them")

// TestPlan runs testdata/*.txt. A block is lines of input, ----, the plan, and
// an empty line. An office line holds until the next one; parent and world
// lines hold for their block. Record again with: go test -run TestPlan -record
func TestPlan(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(text))
			if *record {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compare(t, file, string(text), got)
		})
	}
}

func compare(t *testing.T, file, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			t.Fatalf("%s:%d:\nwant %s\ngot  %s", file, i+1, a, b)
		}
	}
}

// replay returns text with every plan replaced by what Plan says.
func replay(t *testing.T, text string) string {
	var out []string
	s := newScript(t)
	skip := false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "":
			skip = false
			s.block()
			out = append(out, line)
		case skip:
		case line == "----":
			skip = true
			out = append(out, line)
			out = append(out, s.plan()...)
		default:
			s.line(line)
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// script is the state of one data file.
type script struct {
	t        *testing.T
	book     *book
	settings Settings
	m        *mail.Message
	w        World
	stamp    bool
}

func newScript(t *testing.T) *script {
	s := &script{t: t, book: newBook()}
	s.block()
	return s
}

func (s *script) block() {
	s.m, s.w, s.stamp = nil, World{ParentKnown: true}, false
}

func (s *script) line(line string) {
	if strings.HasPrefix(line, "#") {
		return
	}
	verb, rest, _ := strings.Cut(line, " ")
	args := fields(rest)
	switch verb {
	case "office":
		s.office(args)
	case "parent":
		s.parent(args)
	case "world":
		s.world(args)
	case "send", "stamp":
		s.stamp = verb == "stamp"
		s.send(args)
	default:
		s.t.Fatalf("no such line: %s", line)
	}
}

// fields splits k=v words; a value may be quoted as in Go.
func fields(s string) [][2]string {
	var list [][2]string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := strings.IndexAny(s, "= ")
		if end < 0 {
			end = len(s)
		}
		k, v := s[:end], ""
		s = s[end:]
		if after, ok := strings.CutPrefix(s, "="); ok {
			s = after
			if q, err := strconv.QuotedPrefix(s); err == nil {
				v, _ = strconv.Unquote(q)
				s = s[len(q):]
			} else {
				v, s, _ = strings.Cut(s, " ")
			}
		}
		list = append(list, [2]string{k, v})
	}
	return list
}

func (s *script) office(args [][2]string) {
	s.book, s.settings = newBook(), Settings{}
	for _, a := range args {
		switch k, v := a[0], a[1]; k {
		case "agents":
			channels := s.book.channels
			s.book = newBook(strings.Split(v, ",")...)
			s.book.channels = channels
		case "channel":
			name, members, _ := strings.Cut(v, ":")
			s.book.channel(name, split(members)...)
		case "god":
			s.settings.Orchestrator = v
		case "station":
			s.settings.Station = v
		case "copyall":
			s.settings.CopyAll = v
		default:
			s.t.Fatalf("no such office setting: %s", k)
		}
	}
}

func (s *script) parent(args [][2]string) {
	p := &Parent{ID: "p-1", Conversation: "conv-1"}
	for _, a := range args {
		switch k, v := a[0], a[1]; k {
		case "from":
			p.From = v
			p.FromHuman = v == "human"
			if ag, ok := s.book.Agent(v); ok {
				p.FromAID = ag.AID
			}
		case "act":
			p.Act = mail.Act(v)
			p.Obliges = p.Act.Obliges()
		case "hops":
			p.Hops = s.number(v)
		case "sent":
			p.Sent = true
		case "received":
			p.Received = true
		case "cc":
			p.CC = true
		default:
			s.t.Fatalf("no such fact of a parent: %s", k)
		}
	}
	s.w.Parent = p
}

func (s *script) world(args [][2]string) {
	for _, a := range args {
		switch k, v := a[0], a[1]; k {
		case "unknownparent":
			s.w.ParentKnown = false
		case "turns":
			s.w.Turns = s.number(v)
		case "turnshour":
			s.w.TurnsHour = s.number(v)
		case "blown":
			s.w.Fuse.Blown, s.w.Fuse.Approval = true, v
		case "blownby":
			s.w.Fuse.Message = mail.ID(v)
		case "ofsender":
			s.w.Fuse.OfSender = true
		case "allowed":
			s.w.Fuse.Allowed = s.number(v)
		case "allowedhour":
			s.w.Fuse.AllowedHour = s.number(v)
		case "rejected":
			id, ago, _ := strings.Cut(v, "@")
			d, err := time.ParseDuration(ago)
			if err != nil {
				s.t.Fatal(err)
			}
			s.w.Rejected = &Rejection{Approval: id, At: noon.Add(-d), Text: "not now"}
		case "released":
			s.w.Released = true
		case "begun":
			s.w.Begun = true
		default:
			s.t.Fatalf("no such fact of the world: %s", k)
		}
	}
}

func (s *script) send(args [][2]string) {
	m := &mail.Message{ID: "m-1", Act: mail.Inform, CreatedAt: noon}
	for _, a := range args {
		switch k, v := a[0], a[1]; k {
		case "from":
			m.From = v
			if ag, ok := s.book.Agent(v); ok {
				s.w.Sender = ag
			}
		case "claims":
			m.From = v
		case "to":
			m.To = v
		case "cc":
			m.CC = strings.Split(v, ",")
		case "act":
			m.Act = mail.Act(v)
		case "conversation":
			m.Conversation = v
		case "reply":
			m.InReplyTo = "p-1"
		case "waives":
			m.SetWaives()
		case "human":
			m.NeedsHuman = true
		case "hops":
			m.Hops = s.number(v)
		case "deadline":
			d, err := time.ParseDuration(v)
			if err != nil {
				s.t.Fatal(err)
			}
			m.Deadline = noon.Add(d)
		case "envelope":
			to, cc, _ := strings.Cut(v, "/")
			m.Envelope = &mail.Envelope{Recipients: split(to), CC: split(cc)}
		default:
			s.t.Fatalf("no such field of a message: %s", k)
		}
	}
	s.m = m
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "+")
}

func (s *script) number(v string) int {
	n, err := strconv.Atoi(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) plan() []string {
	s.w.Directory, s.w.Settings = s.book, s.settings
	if s.stamp {
		return s.stamped()
	}
	plan := Plan(s.m, s.w, noon.Add(time.Minute))
	if again := Plan(s.m, s.w, noon.Add(time.Hour)); !reflect.DeepEqual(plan, again) {
		s.t.Errorf("planned an hour later: %v", again)
	}
	check(s.t, plan)
	var out []string
	for _, a := range plan {
		out = append(out, show(a))
	}
	return out
}

func (s *script) stamped() []string {
	m, fault := Stamp(s.m, s.w)
	if fault != nil {
		return []string{show(*fault)}
	}
	if twice, _ := Stamp(m, s.w); !reflect.DeepEqual(m, twice) {
		s.t.Errorf("stamped twice: %v", twice)
	}
	return []string{fmt.Sprintf("conversation=%q hops=%d requires_reply=%t recipients=%s cc=%s turns=%d",
		m.Conversation, m.Hops, m.RequiresReply, strings.Join(m.Envelope.Recipients, "+"),
		strings.Join(m.Envelope.CC, "+"), m.Envelope.Turns)}
}

// failer is what check needs of testing.T and rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// check holds every plan to what all of them promise.
func check(t failer, plan []Action) {
	t.Helper()
	var loud, asks, whole, settles int
	boxes := map[string]bool{}
	for _, a := range plan {
		switch a := a.(type) {
		case Deliver:
			loud++
			if boxes[a.To.AID] {
				t.Fatalf("delivered twice to %s", a.To.Name)
			}
			boxes[a.To.AID] = true
			if a.As == AsCC && a.Obliges {
				t.Fatalf("a copy obliges %s", a.To.Name)
			}
		case Ask:
			loud++
			asks++
			if a.Kind != Notice && a.Expires.IsZero() {
				t.Fatalf("%s never expires", a.Kind)
			}
		case Bounce:
			loud++
			if a.Recipient == "" {
				whole++
			}
			if a.Reason == "" || a.Hint == "" || a.Kind == "" {
				t.Fatalf("a bounce without reason or hint: %+v", a)
			}
		case Tell:
			loud++
			if a.Cause == "" || a.To.AID == "" {
				t.Fatalf("a notice without cause or recipient: %+v", a)
			}
		case Settle:
			settles++
		}
	}
	switch {
	case loud == 0:
		t.Fatalf("a silent plan: %v", plan)
	case whole > 0 && len(plan) > 1:
		t.Fatalf("bounced as a whole, and more: %v", plan)
	case asks > 1 || settles > 1:
		t.Fatalf("%d questions, %d settlements: %v", asks, settles, plan)
	}
}

// show prints one action on one line; times as distance from noon.
func show(a Action) string {
	at := func(label string, t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return " " + label + "=" + t.Sub(noon).String()
	}
	flag := func(label string, on bool) string {
		if on {
			return " " + label
		}
		return ""
	}
	switch a := a.(type) {
	case Deliver:
		return "deliver " + a.To.Name + " as " + string(a.As) + flag("obliges", a.Obliges) + at("due", a.Due)
	case Transcript:
		return "transcript " + a.File + " [" + a.Header + "]"
	case Ask:
		return "ask " + string(a.Kind) + flag("fuse", a.Fuse) + flag("of sender", a.OfSender) + at("expires", a.Expires) + ": " + a.Why + options(a.Options)
	case Bounce:
		return fmt.Sprintf("bounce(%s)%s: %s; %s", a.Kind, flag(a.Recipient, a.Recipient != ""), a.Reason, a.Hint)
	case Tell:
		return "tell " + a.To.Name + " <" + a.Cause + ">: " + strconv.Quote(a.Text)
	case Owe:
		return "owe " + a.Debtor + " → " + a.Creditor + at("due", a.Due) + flag("firm", a.Firm)
	case Settle:
		return "settle " + string(a.Parent) + " of " + a.Debtor + " by " + string(a.By) + flag("agreed", a.Agreed) + at("due", a.Due)
	}
	return fmt.Sprintf("unknown action %T", a)
}

func options(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, "/") + ")"
}
