package install

import (
	"slices"
	"strings"
)

// allow is a list of rules: what may be done without a question.
type allow struct {
	path  []string
	rules []string
	wish  bool
}

// MailVerbs are the commands that an agent may run without being asked for
// permission: those that read and write its own mail, and say who is there.
// Never a person's command, never post itself (design §12).
func MailVerbs() []string {
	return []string{"inbox", "read", "send", "reply", "done", "wait", "thread", "trace", "owed", "agents", "where", "primer", "help"}
}

// mailTools are the tools of the MCP server.
func mailTools() []string {
	return []string{"send_mail", "reply_mail", "list_mail", "read_mail", "mark_done", "wait_for_mail", "list_agents", "ask_human", "trace_mail"}
}

func (a allow) has(d *jsonDoc) []string {
	var have []string
	if list := d.at(a.path...); list != nil {
		for _, n := range list.items {
			have = append(have, d.text(n))
		}
	}
	return have
}

func (a allow) missing(d *jsonDoc) []string {
	have := a.has(d)
	return slices.DeleteFunc(slices.Clone(a.rules), func(r string) bool { return slices.Contains(have, r) })
}

func (a allow) add(d *jsonDoc) ([]Change, error) {
	missing := a.missing(d)
	if !a.wish || len(missing) == 0 {
		return nil, nil
	}
	for _, r := range missing {
		list, err := d.container('[', a.path...)
		if err != nil {
			return nil, err
		}
		if err := d.insert(list, "", r); err != nil {
			return nil, err
		}
		d.made = append(d.made, joinPath(append(slices.Clone(a.path), r)))
	}
	return []Change{{"add", plural(len(missing), "allow rule") + " for the mail verbs only: " + short(missing)}}, nil
}

// short names rules as a person reads them: "post send, read; the tools send_mail,
// read_mail".
func short(rules []string) string {
	var verbs, tools, all []string
	for _, r := range rules {
		if in, ok := strings.CutPrefix(r, "Bash(post "); ok {
			verbs = append(verbs, strings.TrimSuffix(in, ":*)"))
		} else {
			parts := strings.Split(r, "__") // mcp__postroom__send_mail
			tools = append(tools, parts[len(parts)-1])
		}
	}
	if len(verbs) > 0 {
		all = append(all, "post "+strings.Join(verbs, ", "))
	}
	if len(tools) > 0 {
		all = append(all, "the tools "+strings.Join(tools, ", "))
	}
	return strings.Join(all, "; ")
}

// remove leaves the rules that were there before, if it is known which.
func (a allow) remove(d *jsonDoc, made []string) ([]Change, error) {
	ours := func(rule string) bool {
		return slices.Contains(a.rules, rule) && (made == nil || slices.Contains(made, joinPath(append(slices.Clone(a.path), rule))))
	}
	n := 0
	for {
		list := d.at(a.path...)
		if list == nil || list.kind != '[' {
			break
		}
		i := slices.IndexFunc(list.items, func(n *node) bool { return ours(d.text(n)) })
		if i < 0 {
			break
		}
		if err := d.remove(list, i); err != nil {
			return nil, err
		}
		n++
	}
	if n == 0 {
		return nil, nil
	}
	return []Change{{"remove", plural(n, "allow rule")}}, d.prune(made, a.path...)
}

func (a allow) look(d *jsonDoc) Look {
	missing := a.missing(d)
	l := Look{Ours: len(a.rules) - len(missing)}
	if a.wish && len(missing) > 0 {
		l.Lacks = []Lack{{What: plural(len(missing), "allow rule") + " missing, so each use asks for permission: " + strings.Join(missing, ", "), Choice: true}}
	}
	return l
}
