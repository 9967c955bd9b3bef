package postd

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/search"
)

func searchCommand() cli.Command {
	return cli.Command{
		Name: "search", Summary: "find messages by words, names, acts, times and states",
		Usage: "WORDS… [--limit N] [--before ID] [--rank] [--rebuild] | --verify",
		Long: `Finds messages that have all the words, newest first, and shows the place in
each. Agents find what they sent and received, a person everything. Nothing
counts as read by this.

  word  "a phrase"  wor*  -word      -- before the first, for -word as an argument
  from:NAME  to:NAME  act:request  thread:ID or conversation:ID
  after:2026-05-30  before:3d        dates in UTC, or a length of time ago
  state:unread|read|done             of a recipient (the one that to: names)
  state:bounced|asked|decided|expired
  is:owed                            somebody owes an answer

One field twice means either. An argument with a space in it is a phrase.

The index is only a cache, in the user's state directory. It takes in what is new
before each search and is built anew when it does not fit the office; it may be
deleted at any time. "post search --verify" compares it with the office.`,
		Examples: []string{
			"post search retry loop",
			`post search from:coder after:3d '"retry loop" -draft'`,
			"post search --limit 50 is:owed to:tester",
			"post search --verify",
		},
		Setup: func(fs *flag.FlagSet) cli.Run {
			var s searchRun
			fs.IntVar(&s.limit, "limit", 20, "show at most `N` messages, 1000 at most")
			fs.StringVar(&s.before, "before", "", "go on behind the message `ID`, the last one shown")
			fs.BoolVar(&s.rank, "rank", false, "the best first, not the newest; common words take longer")
			fs.BoolVar(&s.verify, "verify", false, "compare the index with the office; exits with 1 if they differ")
			fs.BoolVar(&s.rebuild, "rebuild", false, "build the index anew first")
			return s.run
		},
	}
}

const searchLimit = 1000

type searchRun struct {
	limit                 int
	before                string
	rank, verify, rebuild bool
}

func (s *searchRun) run(ctx context.Context, e *cli.Env, args []string) error {
	if err := s.check(e, args); err != nil {
		return err
	}
	q, err := search.Parse(search.Arguments(args), e.Now())
	if err != nil {
		return err
	}
	box, err := e.Look()
	if err != nil {
		return err
	}
	x, err := search.Open(ctx, search.Dir(e.User().Dir, box.Office), box.Office, box.Registry)
	if err != nil {
		return err
	}
	defer x.Close()
	s.watch(e, x)
	if s.rebuild {
		if err := x.Rebuild(ctx); err != nil {
			return err
		}
	}
	taken, err := x.Update(ctx)
	if err != nil {
		return err
	}
	if s.verify || s.rebuild && len(args) == 0 {
		s.tell(e, x, taken)
		if s.verify {
			return verifyIndex(ctx, e, x, taken)
		}
		return built(ctx, e, x)
	}
	r := search.Request{Query: q, Limit: s.limit, Above: mail.ID(s.before), Rank: s.rank, MayRead: box.MayRead}
	if box.Author.Name != office.Human {
		r.Who = search.Reader{AID: box.Author.AID, Name: box.Author.Name}
	}
	found, err := x.Find(ctx, r)
	if err != nil {
		return err
	}
	s.tell(e, x, taken)
	return show(e, x, found, taken)
}

func (s *searchRun) check(e *cli.Env, args []string) error {
	switch {
	case s.verify && (len(args) > 0 || s.rebuild):
		return e.Usage("--verify stands alone", `run "post search --verify"`)
	case len(args) == 0 && !s.verify && !s.rebuild:
		return e.NeedArgs(args, 1, -1)
	case s.limit < 1 || s.limit > searchLimit:
		return e.Usage("--limit is a number from 1 to 1000", "leave it out for 20")
	case s.rank && s.before != "":
		return e.Usage("--rank has no order to go on in", "use --limit for more, or leave out --rank")
	case s.before != "" && !mail.ID(s.before).Valid():
		return e.Usage("--before wants a whole message id", "copy the one that the search before this ended with")
	}
	return nil
}

// watch tells a person who waits what is going on.
func (s *searchRun) watch(e *cli.Env, x *search.Index) {
	if e.Quiet || e.JSON {
		return
	}
	next := time.Now().Add(time.Second)
	x.Progress = func(done, total int64) {
		if now := time.Now(); now.After(next) {
			next = now.Add(3 * time.Second)
			e.Warn("reading the office for the search index: %d %%", 100*done/max(total, 1))
		}
	}
	x.Waiting = func() { e.Warn("another search writes to the index; waiting for it") }
}

// tell says what is not as it should be, whatever is found.
func (s *searchRun) tell(e *cli.Env, x *search.Index, t search.Taken) {
	if why := x.Rebuilt(); why != "" && !s.rebuild {
		e.Warn("the search index was built anew: %s", why)
	}
	if t.Damaged {
		e.Warn("the journal has a line that can't be read, so some messages may not be found; run post verify")
	}
	if t.Missing > 0 {
		e.Warn("%d messages can't be found by searching, because the office has no sound copy of them; run post verify", t.Missing)
	}
}

func built(ctx context.Context, e *cli.Env, x *search.Index) error {
	n, err := x.Count(ctx)
	if err != nil {
		return err
	}
	if e.JSON {
		e.Out.Object(struct {
			Indexed int    `json:"indexed"`
			Index   string `json:"index"`
		}{n, x.Path()})
	} else {
		e.Out.Printf("indexed %d messages\n", n)
	}
	return nil
}

// verifyView is `post search --verify --json` (docs/json.md).
type verifyView struct {
	OK       bool     `json:"ok"`
	Messages int      `json:"messages"`
	Indexed  int      `json:"indexed"`
	Sampled  int      `json:"sampled"`
	Missing  int      `json:"missing"`
	Wrong    int      `json:"wrong"`
	Faults   []string `json:"faults"`
	Rebuilt  string   `json:"rebuilt,omitempty"`
	Index    string   `json:"index"`
}

func verifyIndex(ctx context.Context, e *cli.Env, x *search.Index, t search.Taken) error {
	r, err := x.Verify(ctx)
	if err != nil {
		return err
	}
	ok := r.Wrong == 0 && t.Missing == 0 && !t.Damaged
	if e.JSON {
		e.Out.Object(verifyView{ok, r.Messages, r.Indexed, r.Sampled, t.Missing, r.Wrong, append([]string{}, r.Faults...), x.Rebuilt(), x.Path()})
	} else {
		for _, f := range r.Faults {
			e.Out.Printf("%s\n", e.Out.Red("wrong  "+cli.Line(f)))
		}
		e.Out.Printf("%d messages of the office compared with %d in the index, %d of them by their words: %d wrong\n", r.Messages, r.Indexed, r.Sampled, r.Wrong)
		if r.Wrong > 0 {
			e.Out.Say("Run \"post verify\" to see whether the office is sound, then \"post search --rebuild\".")
		}
	}
	if !ok {
		return cli.Said(mail.ExitStore)
	}
	return nil
}

// hitView is one hit of `post search --json` (docs/json.md).
type hitView struct {
	ID           mail.ID        `json:"id"`
	From         string         `json:"from"`
	To           string         `json:"to"`
	CC           []string       `json:"cc"`
	Act          mail.Act       `json:"act"`
	Conversation string         `json:"conversation"`
	InReplyTo    mail.ID        `json:"in_reply_to,omitempty"`
	CreatedAt    time.Time      `json:"created_at"`
	Subject      []search.Piece `json:"subject"`
	Snippet      []search.Piece `json:"snippet"`
	States       []search.State `json:"states"`
}

// foundView is `post search --json`.
type foundView struct {
	Hits     []hitView `json:"hits"`
	More     bool      `json:"more"`
	Before   mail.ID   `json:"before,omitempty"` // for the next page
	Doubtful []mail.ID `json:"doubtful"`
	Blind    []string  `json:"blind"`
	Missing  int       `json:"missing"`
	Rebuilt  string    `json:"rebuilt,omitempty"`
}

func show(e *cli.Env, x *search.Index, f search.Found, t search.Taken) error {
	next := mail.ID("")
	if f.More {
		next = f.Last
	}
	if e.JSON {
		v := foundView{Hits: []hitView{}, More: f.More, Before: next, Doubtful: append([]mail.ID{}, f.Doubtful...),
			Blind: append([]string{}, f.Blind...), Missing: t.Missing, Rebuilt: x.Rebuilt()}
		for _, h := range f.Hits {
			m := h.Message
			v.Hits = append(v.Hits, hitView{m.ID, m.From, m.To, append([]string{}, m.CC...), m.Act, m.Conversation, m.InReplyTo, m.CreatedAt, h.Subject, h.Snippet, h.States})
		}
		e.Out.Object(v)
	} else {
		printHits(e, f, next)
	}
	if len(f.Doubtful) > 0 {
		e.Warn("the office does not have these as they were indexed: %s; run post verify", doubtful(f.Doubtful))
		return cli.Said(mail.ExitStore)
	}
	return nil
}

func doubtful(ids []mail.ID) string {
	var list []string
	for _, id := range ids[:min(len(ids), 5)] {
		list = append(list, string(id))
	}
	if len(ids) > 5 {
		list = append(list, fmt.Sprintf("and %d more", len(ids)-5))
	}
	return strings.Join(list, ", ")
}

func printHits(e *cli.Env, f search.Found, next mail.ID) {
	var b strings.Builder
	for i, h := range f.Hits {
		if i > 0 {
			b.WriteString("\n")
		}
		m := h.Message
		fmt.Fprintf(&b, "%s  %s  %s → %s  %s  %s\n", m.ID.Short(), m.CreatedAt.UTC().Format("2006-01-02 15:04 UTC"), cli.Line(m.From), cli.Line(m.To), m.Act, e.Out.Dim(fate(h.States)))
		fmt.Fprintf(&b, "  %s\n", e.Out.Bold(pieces(e, h.Subject)))
		if len(h.Snippet) > 0 {
			fmt.Fprintf(&b, "  %s\n", pieces(e, h.Snippet))
		}
	}
	switch {
	case len(f.Hits) == 0:
		e.Out.Say("nothing found")
	case e.StdoutTTY:
		e.Out.Printf("%s", b.String())
	default: // other agents' words
		e.Fence("", b.String())
	}
	if len(f.Blind) > 0 {
		e.Warn("what these have read is not known, their mailboxes can't be read: %s", strings.Join(f.Blind, ", "))
	}
	if next != "" {
		e.Out.Say("more: --before %s", next)
	}
}

func pieces(e *cli.Env, list []search.Piece) string {
	var b strings.Builder
	for _, p := range list {
		if p.Hit {
			b.WriteString(e.Out.Hit(p.Text))
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// fate says what became of a message in few words: "unread", "2 done, 1 read".
func fate(list []search.State) string {
	count := map[string]int{}
	for _, s := range list {
		count[s.State]++
	}
	var out []string
	for _, s := range slices.Backward(search.States()) {
		switch n := count[s]; {
		case n == 1 && len(count) == 1, n == 1 && len(list) == 1:
			out = append(out, s)
		case n > 0:
			out = append(out, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(out, ", ")
}
