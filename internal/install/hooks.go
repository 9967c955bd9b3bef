package install

import (
	"slices"
	"strconv"
	"strings"
)

// event is one event at which a runtime calls post.
type event struct {
	name    string
	timeout int  // in the runtime's own unit
	rewake  bool // it runs beside the session and wakes it (Claude Code)
}

// hooks is the list of hooks in the manner that Claude Code began and others
// took over: {"hooks":{EVENT:[{"hooks":[{"type":"command","command":…}]}]}}.
type hooks struct {
	runtime string
	command string
	events  []event
	trust   string // Codex: the path under which trust is recorded, "" for none
	plugin  bool   // a plugin has the same hooks: these would run a second time
}

// found is one of our hooks in the file.
type found struct {
	event       string
	group, item int // which group of the event, which hook of the group
	command     *node
	post        string
}

// find lists what is ours, in the order of the file.
func (h hooks) find(d *jsonDoc) []found {
	var list []found
	events := d.at("hooks")
	if events == nil || events.kind != '{' {
		return nil
	}
	for i, key := range events.keys {
		for g, group := range events.items[i].items {
			inner := group.get("hooks")
			if inner == nil || inner.kind != '[' {
				continue
			}
			for k, one := range inner.items {
				c := one.get("command")
				if post, ok := ourHook(d.text(c), h.runtime); ok {
					list = append(list, found{key.name, g, k, c, post})
				}
			}
		}
	}
	return list
}

func (h hooks) at(d *jsonDoc, name string) []found {
	return slices.DeleteFunc(h.find(d), func(f found) bool { return f.event != name })
}

func (h hooks) add(d *jsonDoc) ([]Change, error) {
	if h.plugin {
		return h.remove(d, nil)
	}
	var added, updated []string
	for _, ev := range h.events {
		switch old := h.at(d, ev.name); {
		case len(old) == 0:
			list, err := d.container('[', "hooks", ev.name)
			if err != nil {
				return nil, err
			}
			if err := d.insert(list, "", h.group(ev)); err != nil {
				return nil, err
			}
			added = append(added, ev.name)
		default:
			changed, err := h.renew(d, ev.name, old)
			if err != nil {
				return nil, err
			}
			if changed {
				updated = append(updated, ev.name)
			}
		}
	}
	var out []Change
	if len(added) > 0 {
		out = append(out, Change{"add", plural(len(added), "hook") + ": " + strings.Join(added, ", ")})
	}
	if len(updated) > 0 {
		out = append(out, Change{"update", plural(len(updated), "hook") + ": " + strings.Join(updated, ", ")})
	}
	return out, nil
}

func (h hooks) group(ev event) obj {
	one := obj{{"type", "command"}, {"command", h.command}, {"timeout", ev.timeout}}
	if ev.rewake {
		one = append(one, field{"asyncRewake", true})
	}
	return obj{{"hooks", []any{one}}}
}

// renew points our hook at the right program, and leaves one of it.
func (h hooks) renew(d *jsonDoc, name string, old []found) (changed bool, err error) {
	for i := len(old) - 1; i > 0; i-- {
		if err := h.take(d, old[i], nil); err != nil {
			return false, err
		}
		changed = true
	}
	if d.text(old[0].command) != h.command {
		w := jsonWriter{}
		w.quoted(h.command)
		c := h.at(d, name)[0].command
		return true, d.splice(c.start, c.end, w.b.String())
	}
	return changed, nil
}

// take removes one hook, and the group that held nothing else.
func (h hooks) take(d *jsonDoc, f found, made []string) error {
	list := d.at("hooks", f.event)
	group := list.items[f.group]
	var err error
	if inner := group.get("hooks"); len(inner.items) > 1 {
		err = d.remove(inner, f.item)
	} else {
		err = d.remove(list, f.group)
	}
	if err != nil {
		return err
	}
	return d.prune(made, "hooks", f.event)
}

func (h hooks) remove(d *jsonDoc, made []string) ([]Change, error) {
	n := 0
	for list := h.find(d); len(list) > 0; list = h.find(d) {
		if err := h.take(d, list[len(list)-1], made); err != nil {
			return nil, err
		}
		n++
	}
	if n == 0 {
		return nil, nil
	}
	return []Change{{"remove", plural(n, "hook")}}, nil
}

func (h hooks) look(d *jsonDoc) Look {
	var l Look
	var missing []string
	if off := d.at("disableAllHooks"); off != nil && string(d.data[off.start:off.end]) == "true" {
		l.Lacks = append(l.Lacks, Lack{What: "disableAllHooks is true, so no hook runs"})
	}
	if h.plugin {
		if n := len(h.find(d)); n > 0 {
			l.Lacks = append(l.Lacks, Lack{What: "the plugin " + serverName + " is enabled, too, so every hook runs twice"})
		}
		return l
	}
	for _, ev := range h.events {
		list := h.at(d, ev.name)
		if len(list) == 0 {
			missing = append(missing, ev.name)
		}
		if len(list) > 1 {
			l.Lacks = append(l.Lacks, Lack{What: "the hook of " + ev.name + " is there " + strconv.Itoa(len(list)) + " times"})
		}
	}
	if len(missing) > 0 {
		l.Lacks = append(l.Lacks, Lack{What: plural(len(missing), "hook") + " missing: " + strings.Join(missing, ", ")})
	}
	for _, f := range h.find(d) {
		l.Ours++
		l.Posts = append(l.Posts, f.post)
		if h.trust != "" {
			l.Keys = append(l.Keys, trustKey(d, h.trust, f))
		}
	}
	return l
}
