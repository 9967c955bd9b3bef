package cli

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/standing"
)

const (
	// wideTable is the width from which on every column has room, in columns.
	wideTable = 110
	// notes is how many agents are explained below the table.
	notes = 8
)

// agentTable prints the agents, and below them what is to be done about some.
func (e *Env) agentTable(views []standing.Agent) {
	now, narrow := e.Now(), e.Out.width > 0 && e.Out.width < wideTable
	header := []string{"NAME", "RUNTIME", "PRESENCE", "UNREAD", "OLDEST", "OWES", "WOKEN BY", "WORKSPACE"}
	if narrow {
		header = []string{"NAME", "PRESENCE", "UNREAD", "OWES", "WOKEN BY", "WORKSPACE"}
	}
	var rows [][]string
	for _, v := range views {
		unread, oldest := v.Mail(now)
		place := dash(e.short(v.Workspace))
		if narrow {
			if v.Oldest != nil {
				unread += " (" + oldest + ")"
			}
			rows = append(rows, []string{v.Name, v.Word(now), unread, strconv.Itoa(v.Owes), v.WokenBy(true), place})
			continue
		}
		rows = append(rows, []string{v.Name, dash(v.Runtime), v.Word(now), unread, oldest, strconv.Itoa(v.Owes), v.WokenBy(false), place})
	}
	e.Out.Table(header, rows)
	told := 0
	for _, v := range views {
		text := v.Note()
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
