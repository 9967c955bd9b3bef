package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/standing"
)

const (
	// recentMost is how much mail an agent's page lists, agentDebts how many debts.
	recentMost = 20
	agentDebts = 20
)

// agentView is the page of one agent.
type agentView struct {
	agentRow
	Facts    []fact
	Box      boxCounts
	Recent   []mailbox.Item // newest first
	Owes     []debtRow
	Owed     []debtRow // to it
	Commands []command
	Trouble  []string // what could not be read
}

// fact is a thing that is known, and what is known.
type fact struct{ Name, Value string }

// command is one to type, and what it is for.
type command struct{ For, Line string }

// boxCounts is what lies in a mailbox.
type boxCounts struct {
	Inbox   int    // not done
	Ever    uint64 // deliveries, ever
	Waiting int    // in the outbox
	Failed  int    // in .failed
}

// agent shows one agent.
func (s *Site) agent(w http.ResponseWriter, r *http.Request) {
	o, err := s.open()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v, err := s.viewAgent(r, o)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.render(w, r, "agent", view{Title: v.Name, Nav: "agents", Data: v})
}

func (s *Site) viewAgent(r *http.Request, o *office.Office) (agentView, error) {
	book, err := o.Book()
	if err != nil {
		return agentView{}, err
	}
	e, err := entry(book, r.PathValue("name"))
	if err != nil {
		return agentView{}, err
	}
	x, err := s.Env.LookerWith(o, &s.behind.memo)
	if err != nil {
		return agentView{}, err
	}
	a := x.Look(r.Context(), e)
	v := agentView{agentRow: rowOf(a, s.Env.Getenv("HOME")), Facts: factsOf(a, o.Sys.Now()), Commands: commandsOf(a, s.flag())}
	if box, err := mailbox.Open(o, e.Name); err != nil {
		v.complain(err)
	} else if a.Problem == "" {
		v.look(box)
	}
	owed, err := s.debtsOf(o, func(d policy.Debt) bool { return d.Debtor == e.AID || d.Creditor == e.AID })
	if err != nil {
		v.complain(err)
	}
	for _, d := range rowsOf(o, book, owed[:min(len(owed), agentDebts)]) {
		if d.DebtorAID == e.AID {
			v.Owes = append(v.Owes, d)
		} else {
			v.Owed = append(v.Owed, d)
		}
	}
	return v, nil
}

func (v *agentView) complain(err error) {
	if text := mail.Neutralise(err.Error(), false); text != v.Problem && !slices.Contains(v.Trouble, text) {
		v.Trouble = append(v.Trouble, text)
	}
}

// look counts what lies in the mailbox and lists what came last.
func (v *agentView) look(m *mailbox.Mailbox) {
	b := m.Author.Box
	count := func(dir string, of func(name string) bool) (n int) {
		names, err := b.FS.ReadNames(b.Path(dir))
		if err != nil {
			v.complain(err)
		}
		for _, name := range names {
			if !spool.Hidden(name) && strings.HasSuffix(name, ".json") && of(name) {
				n++
			}
		}
		return n
	}
	v.Box.Inbox = count(spool.Inbox, func(name string) bool { return mail.ID(strings.TrimSuffix(name, ".json")).Valid() })
	v.Box.Waiting = count(spool.Outbox, func(string) bool { return true })
	v.Box.Failed = count(spool.Failed, func(name string) bool { return !strings.HasSuffix(name, ".why.json") })
	var err error
	if v.Recent, err = m.History(recentMost); err != nil {
		v.complain(err)
	}
	slices.Reverse(v.Recent)
	if len(v.Recent) > 0 {
		v.Box.Ever = v.Recent[0].Seq
	}
}

// factsOf lists what is known beyond what the page's head says.
func factsOf(a standing.Agent, now time.Time) []fact {
	session, started, wake := "", "", strings.Join(a.Notify, " ")
	if s := a.Session; s != nil {
		session = s.Runtime + " " + s.ID
	}
	if s := a.Started; s != nil {
		started = s.How + ", " + s.State + ", " + mail.Age(now.Sub(s.At)) + " ago"
		if s.Why != "" {
			started += ": " + s.Why
		}
	}
	if w := a.Wake; w != nil {
		wake += wakeWords(w, now)
	}
	list := []fact{{"what it does", a.Role}, {"woken by", cmp.Or(wake, "nothing")}, {"session", session}, {"started by post", started},
		{"launch command", strings.Join(a.Launch, " ")}, {"works in", a.Workspace}, {"mailbox", a.Mailbox},
		{"earlier names", strings.Join(a.Aliases, ", ")}, {"joined", a.Joined.UTC().Format("2006-01-02 15:04 UTC")}, {"id", a.AID}}
	return slices.DeleteFunc(list, func(f fact) bool { return f.Value == "" })
}

// wakeWords says how waking goes.
func wakeWords(w *standing.Wake, now time.Time) string {
	text := map[string]string{standing.WakeOK: ", which works", standing.WakeHeld: ", which waits", standing.WakeFailing: ", which fails",
		standing.WakeNoSession: ", but there is no session"}[w.State]
	if w.Evidence != "" {
		text += ": " + w.Evidence
	}
	if w.At != nil {
		text += ", tried " + mail.Age(now.Sub(*w.At)) + " ago"
	}
	if w.Tries > 0 && w.NextTry != nil && w.NextTry.After(now) {
		text += ", again in " + mail.Age(w.NextTry.Sub(now))
	}
	return text
}

// commandsOf lists what a person may want to type about an agent. The name is
// from the registry, so it needs no quoting; flag says which office.
func commandsOf(a standing.Agent, flag string) []command {
	show := command{"see everything about it", "post agent show " + a.Name + flag}
	if a.Archived && a.Station != "" {
		return []command{show}
	}
	if a.Archived {
		return []command{show, {"put it back into service", "post agent unarchive " + a.Name + flag}}
	}
	list := []command{{"write to it", "post send " + a.Name + " --as human -s SUBJECT -f FILE" + flag}, show}
	if s := a.Started; s != nil && len(s.Attach) > 0 {
		list = append(list, command{"look over its shoulder", shellLine(s.Attach)})
	}
	switch {
	case len(a.Launch) == 0:
	case a.Started == nil:
		list = append(list, command{"start it", "post start " + a.Name + flag})
	default:
		list = append(list, command{"read what it printed", "post logs " + a.Name + flag}, command{"start it anew", "post restart " + a.Name + flag})
	}
	return list
}

// shellLine is an argument list as a person can type it.
func shellLine(args []string) string {
	var out []string
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(c rune) bool { return !plainRune(c) }) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return mail.Neutralise(strings.Join(out, " "), false)
}

func plainRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:=@%+,", c)
}
