package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

func agentsCommand() Command {
	return Command{
		Name: "agents", Summary: "list the agents: presence, unread mail, debts, how they are woken",
		Usage: "[--all]",
		Long: `Presence comes from evidence: what the session's hooks said last, whether its
process runs, and what the agent did with its mail.

  active        it did something within the last ten minutes
  idle          it waits at its prompt
  busy          a turn is running
  at a dialog   it waits for its person to allow something
  stale         nothing was heard for a day
  down          its session has ended, or its process is gone
  not seen yet  it never said anything

Behind: its oldest unread mail is older than an answer may take, or an answer
of its is overdue. "post agent show NAME" has the evidence.`,
		Setup: func(fs *flag.FlagSet) Run {
			all := fs.Bool("all", false, "the archived too")
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 0, 0); err != nil {
					return err
				}
				return runAgents(ctx, e, *all)
			}
		},
	}
}

// agentView is one agent as `post agents` shows it (docs/json.md).
type agentView struct {
	Name      string       `json:"name"`
	AID       string       `json:"aid"`
	Role      string       `json:"role,omitempty"`
	Runtime   string       `json:"runtime,omitempty"`
	Presence  string       `json:"presence"`
	Evidence  string       `json:"evidence,omitempty"` // of the presence
	LastSeen  *time.Time   `json:"last_seen,omitempty"`
	Session   *sessionView `json:"session,omitempty"`
	Started   *startedView `json:"started,omitempty"`
	Unread    int          `json:"unread"`
	Oldest    *time.Time   `json:"oldest_unread,omitempty"`
	Owes      int          `json:"owes"`
	Overdue   int          `json:"overdue,omitempty"`
	Behind    string       `json:"behind,omitempty"` // why
	Notify    []string     `json:"notify"`
	Wake      *wakeView    `json:"wake,omitempty"`
	Workspace string       `json:"workspace,omitempty"`
	Mailbox   string       `json:"mailbox"`
	Archived  bool         `json:"archived,omitempty"`
	Aliases   []string     `json:"aliases,omitempty"`
	Launch    []string     `json:"launch,omitempty"`
	Joined    time.Time    `json:"joined"`
	Problem   string       `json:"problem,omitempty"` // the mailbox cannot be read
}

func runAgents(ctx context.Context, e *Env, all bool) error {
	o, reg, err := e.openRegistry()
	if err != nil {
		return err
	}
	x, err := e.looker(o)
	if err != nil {
		return err
	}
	entries := slices.DeleteFunc(reg.Entries(), func(r registry.Entry) bool { return r.Archived && !all })
	hidden := len(reg.Entries()) - len(entries)
	slices.SortFunc(entries, func(a, b registry.Entry) int { return strings.Compare(a.Name, b.Name) })
	var views []agentView
	for _, r := range entries {
		v := x.view(ctx, r)
		if e.JSON {
			e.Out.Object(v)
			continue
		}
		views = append(views, v)
	}
	switch {
	case e.JSON:
	case len(views) == 0:
		e.Out.Say("no agents yet; next: in the directory where one works, run\n  post join NAME")
	default:
		e.agentTable(views)
	}
	if hidden > 0 && !e.JSON {
		e.Out.Say("%d archived: post agents --all", hidden)
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ago shows an age in its largest unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(max(0, int(d/time.Second))) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// lastReceipt says when the owner last did anything; zero if it never did.
func lastReceipt(box spool.Box) (time.Time, error) {
	const tail = 64 << 10
	f, err := box.FS.OpenFile(box.Path(spool.Receipts), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	from := max(0, fi.Size()-tail)
	buf := make([]byte, fi.Size()-from)
	if n, err := f.ReadAt(buf, from); err != nil && err != io.EOF {
		return time.Time{}, err
	} else {
		buf = buf[:n]
	}
	for _, line := range mail.LinesBackward(buf, from == 0) {
		if r, err := mail.ParseReceipt(line); err == nil {
			return r.At, nil
		}
	}
	return time.Time{}, nil
}
