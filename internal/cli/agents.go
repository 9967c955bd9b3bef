package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

func agentsCommand() Command {
	return Command{
		Name: "agents", Summary: "list the agents: presence, unread mail, debts, how they are woken",
		Usage: "[--all]",
		Long: `Presence comes from what the agent did last: active within ten minutes, idle
within a day, else stale; not seen yet if it never did anything.`,
		Setup: func(fs *flag.FlagSet) Run {
			all := fs.Bool("all", false, "the archived too")
			return func(_ context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 0, 0); err != nil {
					return err
				}
				return runAgents(e, *all)
			}
		},
	}
}

// agentView is one agent as `post agents` shows it.
type agentView struct {
	Name      string     `json:"name"`
	AID       string     `json:"aid"`
	Role      string     `json:"role,omitempty"`
	Runtime   string     `json:"runtime,omitempty"`
	Presence  string     `json:"presence"`
	LastSeen  *time.Time `json:"last_seen,omitempty"`
	Unread    int        `json:"unread"`
	Oldest    *time.Time `json:"oldest_unread,omitempty"`
	Owes      int        `json:"owes"`
	Notify    []string   `json:"notify"`
	Workspace string     `json:"workspace,omitempty"`
	Mailbox   string     `json:"mailbox"`
	Archived  bool       `json:"archived,omitempty"`
	Aliases   []string   `json:"aliases,omitempty"`
	Launch    []string   `json:"launch,omitempty"`
	Joined    time.Time  `json:"joined"`
	Problem   string     `json:"problem,omitempty"` // the mailbox cannot be read
}

func runAgents(e *Env, all bool) error {
	o, reg, err := e.openRegistry()
	if err != nil {
		return err
	}
	owed, err := debt.Load(o.FS)
	if err != nil {
		return err
	}
	entries := slices.DeleteFunc(reg.Entries(), func(r registry.Entry) bool { return r.Archived && !all })
	slices.SortFunc(entries, func(a, b registry.Entry) int { return strings.Compare(a.Name, b.Name) })
	var rows [][]string
	for _, r := range entries {
		v := viewAgent(o, r, owed)
		if e.JSON {
			e.Out.Object(v)
			continue
		}
		rows = append(rows, v.row(e.Now()))
	}
	switch {
	case e.JSON:
	case len(rows) == 0:
		e.Out.Say("no agents yet; next: in the directory where one works, run\n  post join NAME")
	default:
		e.Out.Table([]string{"NAME", "RUNTIME", "PRESENCE", "UNREAD", "OLDEST", "OWES", "WOKEN BY", "WORKSPACE"}, rows)
	}
	return nil
}

func (v agentView) row(now time.Time) []string {
	presence, oldest := v.Presence, "-"
	switch {
	case v.Archived:
		presence = "archived"
	case v.LastSeen != nil:
		presence += " (" + ago(now.Sub(*v.LastSeen)) + ")"
	}
	if v.Oldest != nil {
		oldest = ago(now.Sub(*v.Oldest))
	}
	unread := strconv.Itoa(v.Unread)
	if v.Problem != "" {
		unread = "mailbox unreadable"
	}
	return []string{v.Name, dash(v.Runtime), presence, unread, oldest, strconv.Itoa(v.Owes),
		dash(strings.Join(v.Notify, " ")), dash(v.Workspace)}
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

// viewAgent looks into an agent's mailbox. One that cannot be read is shown as
// such and stops nobody.
func viewAgent(o *office.Office, r registry.Entry, owed debt.Book) agentView {
	v := agentView{Name: r.Name, AID: r.AID, Role: r.Role, Runtime: r.Runtime, Presence: "not seen yet",
		Notify: r.Notify, Workspace: r.Workspace, Mailbox: filepath.Dir(r.InboxPath), Archived: r.Archived,
		Aliases: r.Aliases, Launch: r.Launch, Joined: r.Joined}
	for _, d := range owed.Open(o.Settings()) {
		if d.Debtor == r.AID {
			v.Owes++
		}
	}
	a, err := o.Author(r)
	if err == nil {
		err = v.lookInto(&mailbox.Mailbox{Office: o, Author: a, Entry: r}, o.Sys.Now())
	}
	if err != nil {
		v.Problem = err.Error()
	}
	return v
}

func (v *agentView) lookInto(box *mailbox.Mailbox, now time.Time) error {
	seen, err := lastReceipt(box.Author.Box)
	if err != nil {
		return err
	}
	if id := box.Author.Box.OpenClock().Last; id.Valid() && !mail.Drifted(id, now, 0) && id.Time().After(seen) {
		seen = id.Time()
	}
	if !seen.IsZero() {
		v.LastSeen, v.Presence = &seen, presence(now.Sub(seen))
	}
	items, err := box.List(true)
	if err != nil {
		return err
	}
	v.Unread = len(items)
	for _, it := range items {
		if t := it.ID.Time(); v.Oldest == nil || t.Before(*v.Oldest) {
			v.Oldest = &t
		}
	}
	return nil
}

func presence(since time.Duration) string {
	switch {
	case since < 10*time.Minute:
		return "active"
	case since < 24*time.Hour:
		return "idle"
	}
	return "stale"
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
