package cli

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// wideTable is the width from which on every column has room, in columns.
	wideTable = 110
	// notes is how many agents are explained below the table.
	notes = 8
)

// agentTable prints the agents, and below them what is to be done about some.
func (e *Env) agentTable(views []agentView) {
	now, narrow := e.Now(), e.Out.width > 0 && e.Out.width < wideTable
	header := []string{"NAME", "RUNTIME", "PRESENCE", "UNREAD", "OLDEST", "OWES", "WOKEN BY", "WORKSPACE"}
	if narrow {
		header = []string{"NAME", "PRESENCE", "UNREAD", "OWES", "WOKEN BY", "WORKSPACE"}
	}
	var rows [][]string
	for _, v := range views {
		unread, oldest := v.mail(now)
		place := dash(e.short(v.Workspace))
		if narrow {
			if v.Oldest != nil {
				unread += " (" + oldest + ")"
			}
			rows = append(rows, []string{v.Name, v.presence(now), unread, strconv.Itoa(v.Owes), v.wokenBy(true), place})
			continue
		}
		rows = append(rows, []string{v.Name, dash(v.Runtime), v.presence(now), unread, oldest, strconv.Itoa(v.Owes), v.wokenBy(false), place})
	}
	e.Out.Table(header, rows)
	told := 0
	for _, v := range views {
		text := v.note()
		if text == "" {
			continue
		}
		if told++; told == 1 {
			e.Out.Say("")
		} else if told > notes {
			e.Out.Say("… and more: post agents --json")
			return
		}
		e.Out.Say("%s", e.Out.Dim(Line(v.Name+": "+text)))
	}
}

// short writes a path in the user's home as people do.
func (e *Env) short(path string) string {
	home := e.Getenv("HOME")
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// presence is the word with its age, and whether the agent is behind.
func (v agentView) presence(now time.Time) string {
	text := v.Presence
	switch {
	case v.Archived:
		return isArchived
	case v.Presence == atDialog:
		text = "at a dialog"
	}
	if v.LastSeen != nil {
		text += " (" + ago(now.Sub(*v.LastSeen)) + ")"
	}
	if v.Behind != "" {
		text += ", behind"
	}
	return text
}

func (v agentView) mail(now time.Time) (unread, oldest string) {
	unread, oldest = strconv.Itoa(v.Unread), "-"
	if v.Problem != "" {
		unread = "mailbox unreadable"
	}
	if v.Oldest != nil {
		oldest = ago(now.Sub(*v.Oldest))
	}
	return unread, oldest
}

// wokenBy is how the agent is woken, and what is wrong with that.
func (v agentView) wokenBy(short bool) string {
	text := strings.Join(v.Notify, " ")
	if short && len(v.Notify) > 0 {
		text = v.Notify[0]
	}
	switch w := v.Wake; {
	case w == nil:
		return dash(text)
	case w.State == wakeOK:
		return text + " (works)"
	case w.State == wakeFailing:
		return text + " (fails)"
	case w.State != wakeUnknown:
		return text + " (" + w.State + ")"
	}
	return text
}

// note is what a person should know of the agent beyond its row.
func (v agentView) note() string {
	var parts []string
	add := func(s string) { parts = append(parts, s) }
	if v.Problem != "" {
		add(v.Problem)
	}
	switch {
	case v.Archived:
		return ""
	case v.Presence == notSeen && v.Evidence != "":
		add(notSeen + ": " + v.Evidence)
	case v.Presence == atDialog, v.Presence == isDown && (v.Unread > 0 || v.Owes > 0):
		add(v.Evidence)
	}
	if v.Behind != "" {
		add("behind: " + v.Behind)
	}
	if w := v.Wake; w != nil && (w.State == wakeFailing || w.State == wakeHeld) {
		add("woken by " + w.Kind + ", which " + map[string]string{wakeFailing: "fails", wakeHeld: "waits"}[w.State] + because(w.Evidence))
	}
	return strings.Join(parts, "; ")
}

// fields is everything about the agent, for post agent show.
func (v agentView) fields(now time.Time) [][2]string {
	unread, oldest := v.mail(now)
	owes := strconv.Itoa(v.Owes)
	if v.Overdue > 0 {
		owes += ", " + strconv.Itoa(v.Overdue) + " overdue"
	}
	session, started, wake := "", "", ""
	if s := v.Session; s != nil {
		session = s.Runtime + " " + s.ID
		if s.PID != 0 {
			session += ", process " + strconv.Itoa(s.PID) + " (" + s.Process + ")"
		}
	}
	if s := v.Started; s != nil {
		started = s.State + " since " + ago(now.Sub(s.At)) + ", " + s.How + because(s.Why)
	}
	if w := v.Wake; w != nil {
		wake = w.State + because(w.Evidence)
		if w.At != nil {
			wake += ", tried " + ago(now.Sub(*w.At)) + " ago"
		}
	}
	return [][2]string{
		{"name", v.Name}, {"id", v.AID}, {"role", v.Role}, {"aliases", strings.Join(v.Aliases, ", ")},
		{"runtime", v.Runtime}, {"presence", v.presence(now)}, {"evidence", v.Evidence}, {"session", session}, {"started", started},
		{"unread", unread}, {"oldest", oldest}, {"owes", owes}, {"behind", v.Behind},
		{"woken by", strings.Join(v.Notify, " ")}, {"waking", wake}, {"launch", strings.Join(v.Launch, " ")},
		{"workspace", v.Workspace}, {"mailbox", v.Mailbox}, {"joined", v.Joined.UTC().Format(time.DateTime) + " UTC"},
		{"problem", v.Problem},
	}
}
