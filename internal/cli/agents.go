package cli

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/mail"
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
	box, err := o.Box(r)
	if err == nil {
		err = v.lookInto(box, o.Sys.Now())
	}
	if err != nil {
		v.Problem = err.Error()
	}
	return v
}

func (v *agentView) lookInto(box spool.Box, now time.Time) error {
	seen, read, err := readReceipts(box)
	if err != nil {
		return err
	}
	if sent := box.OpenClock().Last; sent.Valid() && !mail.Drifted(sent, now, 0) && sent.Time().After(seen) {
		seen = sent.Time()
	}
	if !seen.IsZero() {
		v.LastSeen, v.Presence = &seen, presence(now.Sub(seen))
	}
	names, err := box.FS.ReadNames(box.Path(spool.Inbox))
	if err != nil {
		return err
	}
	for _, n := range names {
		id, err := mail.ParseID(strings.TrimSuffix(n, ".json"))
		if err != nil || spool.Hidden(n) || read[id] {
			continue
		}
		v.Unread++
		if t := id.Time(); v.Oldest == nil || t.Before(*v.Oldest) {
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

// maxReceipts bounds what is read of a mailbox's receipts.
const maxReceipts = 64 << 20

// readReceipts returns when the owner last did anything, and what it has read.
func readReceipts(box spool.Box) (last time.Time, read map[mail.ID]bool, err error) {
	data, _, err := spool.ReadFile(box.FS, box.Path(spool.Receipts), maxReceipts)
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil, nil
	}
	if err != nil {
		return last, nil, err
	}
	list, _, _ := mail.ParseReceipts(data)
	read = map[mail.ID]bool{}
	for _, r := range list {
		if r.At.After(last) {
			last = r.At
		}
		if (r.Event == mail.EventRead && r.Part == r.Parts) || r.Event == mail.EventDone {
			read[r.ID] = true
		}
	}
	return last, read, nil
}
