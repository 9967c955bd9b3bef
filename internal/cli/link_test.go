package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
)

// playLink is the link, by the files that it leaves (docs/adr/0035):
//
//	link agents US STATION NAME…        this office is US; who is at STATION
//	link status up|down|none [STATION TROUBLE]  as postd says it, since 10:04 on the day of TEST_NOW
//	link says AGENT EVENT WORDS EVIDENCE  of the message for a far agent that has the words, once it is there
//	link mail AGENT JSON                what came in from a far agent
func playLink(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: link agents|status|says|mail …")
	}
	o, err := office.Open(ts.Getenv("POSTROOM_OFFICE"), SystemEnv("0.0.0-test").System)
	if err == nil {
		switch verb, args := args[0], args[1:]; verb {
		case "agents":
			err = farAgents(o, args[0], args[1], args[2:])
		case "status":
			err = linkStatus(o, args)
		case "says":
			err = linkSays(o, args[0], args[1], args[2], args[3])
		case "mail":
			err = linkMail(o, args[0], args[1])
		default:
			err = errors.New("no such verb")
		}
	}
	ts.Check(err)
}

func farAgents(o *office.Office, us, name string, names []string) error {
	if err := o.SetStation(us); err != nil {
		return err
	}
	reg, err := o.Registry()
	if err != nil {
		return err
	}
	list := []office.FarAgent{}
	for _, n := range names {
		list = append(list, office.FarAgent{Name: n, AID: "l-" + n + "-" + name, Role: "of " + name, Runtime: "claude"})
	}
	_, refused, err := o.SetFar(reg, name, list)
	return errors.Join(err, errors.Join(refused...), reg.Save(o.FS))
}

func linkStatus(o *office.Office, args []string) error {
	if err := o.FS.Mkdir(station.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if args[0] == "none" {
		return o.FS.Remove(station.Dir + "/status.json")
	}
	s := station.Status{At: time.Now(), PID: 777, Start: "7", Station: o.Station(), Up: args[0] == "up",
		Since: time.Date(2026, 5, 30, 10, 4, 0, 0, time.UTC)}
	if len(args) > 1 {
		s.Peers = []station.Peer{{Station: args[1], Trouble: strings.Join(args[2:], " ")}}
	}
	return station.Write(o.FS, s)
}

func linkSays(o *office.Office, agent, event, words, evidence string) error {
	m, err := mailbox.Open(o, agent)
	if err != nil {
		return err
	}
	box := m.Author.Box
	for range 1000 {
		names, err := box.FS.ReadNames(box.Path(spool.Inbox))
		if err != nil {
			return err
		}
		for _, n := range names {
			id := mail.ID(strings.TrimSuffix(n, ".json"))
			data, _, err := spool.ReadMail(box.FS, box.Path(spool.Inbox, n))
			if err != nil || !id.Valid() || !bytes.Contains(data, []byte(words)) {
				continue
			}
			err = m.Receipt(mail.Receipt{Event: event, ID: id, Evidence: evidence})
			if err == nil && (event == mail.EventArrived || event == mail.EventRefused) {
				_, err = box.Finish(id, o.Sys.Batch())
			}
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("no such mail for " + agent)
}

func linkMail(o *office.Office, agent, text string) error {
	var in struct {
		To, Act, Subject, Body, Reply string
		CC                            []string
	}
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return err
	}
	reg, err := o.Registry()
	if err != nil {
		return err
	}
	e, ok := reg.Entry(agent)
	if !ok {
		return os.ErrNotExist
	}
	a, err := o.Author(e)
	if err != nil {
		return err
	}
	var c mail.Clock
	m := &mail.Message{Schema: mail.Schema, ID: c.Next(time.Now(), text), From: e.Name, To: in.To, CC: in.CC, Act: mail.Act(in.Act),
		Subject: in.Subject, Body: in.Body, InReplyTo: mail.ID(in.Reply), CreatedAt: time.Now(), Office: o.Config.ID, Station: e.Station,
		SentWith: "post elsewhere", Envelope: &mail.Envelope{Recipients: []string{}}}
	m.RequiresReply, m.Conversation = m.Act.Obliges(), mail.NewConversation(m.ID)
	for _, list := range [][]string{{in.To}, in.CC} {
		for _, n := range list {
			if r, ok := reg.Agent(n); ok {
				m.Envelope.Recipients = append(m.Envelope.Recipients, r.AID)
			}
		}
	}
	data, err := m.Encode()
	if err == nil {
		err = spool.PutNew(a.Box.FS, a.Box.Path(spool.Outbox), spool.FileName(m.ID), data)
	}
	return err
}
