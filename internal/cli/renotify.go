package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

func renotifyCommand() Command {
	return Command{
		Name: "renotify", Summary: "wake recipients again, without sending again", Usage: "[ID]",
		Long:  "Wakes whoever has not read the message ID; without one, whoever has not read\nyour newest messages. Exits 3 if somebody could not be woken.",
		Setup: plain(runRenotify),
	}
}

// renotifyNewest is how many of one's newest messages renotify looks at.
const renotifyNewest = 50

func runRenotify(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 1); err != nil {
		return err
	}
	d, err := e.openDesk()
	if err != nil {
		return err
	}
	if err := d.Office.CheckWritable(); err != nil {
		return err
	}
	d.drainOwn(ctx)
	ids, err := d.renotifiable(args)
	if err != nil {
		return err
	}
	list, err := d.recipientsOf(ids)
	if err != nil {
		return err
	}
	code, told := mail.ExitOK, 0
	disp := d.dispatcher()
	for _, r := range list {
		if !d.unreadBy(r.entry, r.ids) {
			continue
		}
		told++
		w := dispatch.Woken{Agent: r.entry.Name, Kind: "none", Outcome: notify.Outcome{State: notify.NotNeeded}}
		if dispatch.NeedsWaking(r.entry) {
			w = disp.Renotify(ctx, r.entry)
		}
		if e.sayWoken(w); !w.Surfaced() {
			code = mail.ExitNotSurfaced
		}
	}
	if told == 0 {
		e.Out.Say("everybody has read it")
	}
	return Said(code)
}

// renotifiable is the message that was named, or one's newest.
func (d *desk) renotifiable(args []string) ([]mail.ID, error) {
	if len(args) == 1 {
		id, err := d.findAny(args[0])
		return []mail.ID{id}, err
	}
	b := d.Author.Box
	names, err := b.FS.ReadNames(b.Path(spool.Sent))
	if err != nil {
		return nil, &mail.Error{Op: d.e.name, Kind: mail.KindStore, Addr: d.Author.Name, Err: err, Hint: `run "post doctor"`}
	}
	slices.Sort(names)
	var ids []mail.ID
	for _, n := range names[max(0, len(names)-renotifyNewest):] {
		if id := mail.ID(strings.TrimSuffix(n, ".json")); id.Valid() {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// addressee is somebody who got some of the messages.
type addressee struct {
	entry registry.Entry
	ids   []mail.ID
}

// recipientsOf lists who got the messages, in the order of their names.
func (d *desk) recipientsOf(ids []mail.ID) ([]addressee, error) {
	byAID := map[string][]mail.ID{}
	for _, id := range ids {
		aids, err := d.reached(id)
		if err != nil {
			return nil, err
		}
		for _, aid := range aids {
			byAID[aid] = append(byAID[aid], id)
		}
	}
	var out []addressee
	for aid, ids := range byAID {
		if e, ok := d.Registry.EntryByAID(aid); ok {
			out = append(out, addressee{e, ids})
		}
	}
	slices.SortFunc(out, func(a, b addressee) int { return strings.Compare(a.entry.Name, b.entry.Name) })
	return out, nil
}

// reached lists, by aid, to whom a message of this office was delivered.
func (d *desk) reached(id mail.ID) ([]string, error) {
	msg, _, err := d.Office.ReadMessage(id)
	if err != nil {
		o, oerr := d.Open(id)
		if oerr != nil {
			return nil, oerr
		}
		msg = o.Message
	}
	if msg.Envelope == nil {
		return nil, nil
	}
	return msg.Envelope.Recipients, nil
}

// unreadBy reports whether an agent has any of the messages unread.
func (d *desk) unreadBy(e registry.Entry, ids []mail.ID) bool {
	m, err := mailbox.Open(d.Office, e.Name)
	if err != nil {
		return false
	}
	items, err := m.List(true)
	return err == nil && slices.ContainsFunc(items, func(it mailbox.Item) bool { return slices.Contains(ids, it.ID) })
}

func (e *Env) sayWoken(w dispatch.Woken) {
	evidence := strings.TrimPrefix(w.Outcome.Evidence, w.Kind+": ")
	if e.JSON {
		e.Out.Object(struct {
			Agent    string `json:"agent"`
			Kind     string `json:"kind"`
			State    string `json:"state"`
			Evidence string `json:"evidence,omitempty"`
		}{w.Agent, w.Kind, string(w.Outcome.State), evidence})
		return
	}
	switch {
	case w.Kind == "none":
		e.Out.Printf("%s has not read it, and is woken by nothing\n", w.Agent)
	case w.Outcome.State == notify.Notified:
		e.Out.Printf("notified %s (%s: %s)\n", w.Agent, w.Kind, Line(evidence))
	case w.Surfaced():
		e.Out.Printf("%s needs no waking (%s)\n", w.Agent, Line(evidence))
	default:
		e.Out.Printf("not yet surfaced: %s (%s: %s)\n", w.Agent, w.Kind, Line(evidence))
	}
}
