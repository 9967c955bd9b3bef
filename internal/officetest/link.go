package officetest

import (
	"errors"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

// Far registers agents of another station, as the link does. This office becomes
// station us. The aid of bob@lab is l-bob-lab.
func (d *Desk) Far(us, station string, names ...string) {
	d.T.Helper()
	d.must(LinkFar(d.Office(), us, station, names...))
}

// LinkFar is Desk.Far for any office.
func LinkFar(o *office.Office, us, station string, names ...string) error {
	if o.Station() != us {
		if err := o.SetStation(us); err != nil {
			return err
		}
	}
	list := []office.FarAgent{}
	for _, n := range names {
		list = append(list, office.FarAgent{Name: n, AID: FarAID(n, station)})
	}
	reg, err := o.Registry()
	if err != nil {
		return err
	}
	_, refused, err := o.SetFar(reg, station, list)
	return errors.Join(err, errors.Join(refused...), reg.Save(o.FS))
}

// FarAID is the aid of an agent that Far registered.
func FarAID(name, station string) string {
	if name == mail.NameHuman || name == mail.NamePostroom {
		return mail.FarAID(name, station)
	}
	return "l-" + name + "-" + station
}

// FarMail puts a message into the outbox of its far author, in the form that it
// has here, as the link does with what came in. Its id is made if it has none; to
// names agents of this office, whose aids become the envelope, unless that is
// set.
func (d *Desk) FarMail(from string, m *mail.Message) *mail.Message {
	d.T.Helper()
	o := d.Office()
	reg, err := o.Registry()
	d.must(err)
	e, ok := reg.Entry(from)
	if !ok {
		d.T.Fatal("no agent " + from)
	}
	if m.ID == "" {
		var c mail.Clock
		m.ID = c.Next(d.Clock.Now(), from+m.Subject)
	}
	m.Schema, m.From, m.Office, m.Station, m.SentWith = mail.Schema, e.Name, o.Config.ID, e.Station, "post test"
	if m.Conversation == "" {
		m.Conversation = mail.NewConversation(m.ID)
	}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = m.ID.Time()
	}
	if m.Envelope == nil {
		m.Envelope = &mail.Envelope{Recipients: []string{}}
		if a, ok := reg.Agent(m.To); ok {
			m.Envelope.Recipients = append(m.Envelope.Recipients, a.AID)
		}
		for _, cc := range m.CC {
			if a, ok := reg.Agent(cc); ok {
				m.Envelope.CC = append(m.Envelope.CC, a.AID)
			}
		}
	}
	data, err := m.Encode()
	d.must(err)
	box, err := o.Box(e)
	d.must(err)
	d.must(spool.PutNew(box.FS, box.Path(spool.Outbox), spool.FileName(m.ID), data))
	d.must(box.FS.SyncDir(box.Path(spool.Outbox)))
	return m
}

// FarReceipt adds a line to the receipts of a far agent's mailbox, as the link
// does.
func (d *Desk) FarReceipt(agent, event string, id mail.ID, evidence string) {
	d.T.Helper()
	b := d.Box(agent)
	d.must(b.Receipt(mail.Receipt{At: d.Clock.Now(), Event: event, ID: id, Evidence: evidence}))
}
