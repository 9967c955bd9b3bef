package officetest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// Desk is one office on a disk in memory, as processes see it: each call opens
// the office anew.
type Desk struct {
	T     testing.TB
	Mem   *vfs.Mem // the whole disk; the office is at Dir
	Clock *Clock
	Sys   office.System
	// Boots counts how often the machine was started.
	Boots int
	// Fault, if set, stands before every file system that a process opens.
	Fault *vfs.Fault
}

// NewDesk makes an office with agents; all of it is durable.
func NewDesk(t testing.TB, agents ...string) *Desk {
	t.Helper()
	clock := NewClock()
	d := &Desk{T: t, Mem: vfs.NewMem(clock.Now), Clock: clock}
	d.must(d.Mem.Mkdir("office", 0o700))
	Make(t, d.sub(Dir), clock.Now(), agents...)
	d.Mem.SyncAll()
	d.Sys = d.system()
	return d
}

// system is that of the processes of this boot.
func (d *Desk) system() office.System {
	s := System(d.Clock, d.Open)
	boot, since := s.Boot, strconv.Itoa(d.Boots)
	s.Boot = func() (string, time.Duration, bool) {
		id, up, ok := boot()
		return id + since, up, ok
	}
	return s
}

// On returns the desk of other processes, after a restart of the machine, on
// another disk.
func (d *Desk) On(mem *vfs.Mem) *Desk { return d.next(mem, d.Boots+1) }

// Killed returns the desk of other processes, after all of d's were killed: what
// they wrote is there, their locks are gone.
func (d *Desk) Killed() *Desk {
	d.Mem.SyncAll()
	for mem := range d.Mem.CrashStates(1) {
		return d.next(mem, d.Boots)
	}
	return nil
}

func (d *Desk) next(mem *vfs.Mem, boots int) *Desk {
	c := &Desk{T: d.T, Mem: mem, Clock: &Clock{now: d.Clock.Now()}, Boots: boots}
	c.Sys = c.system()
	return c
}

// Open opens a directory of the disk, with the faults that Fault makes.
func (d *Desk) Open(dir string) (vfs.FS, error) {
	sub, err := d.Mem.Sub(strings.TrimPrefix(dir, "/"))
	if err != nil {
		return nil, err
	}
	if d.Fault != nil {
		return d.Fault.Wrap(sub), nil
	}
	return sub, nil
}

func (d *Desk) sub(dir string) *vfs.Mem {
	d.T.Helper()
	sub, err := d.Mem.Sub(strings.TrimPrefix(dir, "/"))
	d.must(err)
	return sub
}

func (d *Desk) must(err error) {
	d.T.Helper()
	if err != nil {
		d.T.Fatal(err)
	}
}

// Open opens the office, as another process that may meet faults.
func Open(d *Desk) (*office.Office, error) { return office.Open(Dir, d.Sys) }

// Office opens the office, as another process.
func (d *Desk) Office() *office.Office {
	d.T.Helper()
	o, err := office.Open(Dir, d.Sys)
	d.must(err)
	return o
}

// Box opens the mailbox of name, as another process.
func (d *Desk) Box(name string) *mailbox.Mailbox {
	d.T.Helper()
	m, err := mailbox.Open(d.Office(), name)
	d.must(err)
	return m
}

// Send stores one message.
func (d *Desk) Send(from string, draft mailbox.Draft) *mail.Message {
	d.T.Helper()
	sent, err := d.Box(from).Send(draft)
	d.must(err)
	d.must(sent[0].Err)
	return sent[0].Msg
}

// Write puts a hand-written file into an outbox, durably.
func (d *Desk) Write(from, name, text string) {
	d.T.Helper()
	b := d.Box(from).Author.Box
	d.must(spool.PutNew(b.FS, b.Path(spool.Outbox), name, []byte(text)))
	d.must(b.FS.SyncDir(b.Path(spool.Outbox)))
}

// Router returns the router of another process.
func (d *Desk) Router() *router.Router {
	d.T.Helper()
	return &router.Router{Office: d.Office()}
}

// Pass runs a whole pass that has to succeed.
func (d *Desk) Pass() router.Report {
	d.T.Helper()
	rep, err := d.Router().Pass(context.Background(), router.Options{All: true})
	d.must(err)
	return rep
}

// Edit changes the registry, as the lease holder would.
func (d *Desk) Edit(fn func(*registry.Registry) error) {
	d.T.Helper()
	fsys := d.sub(Dir)
	reg, err := registry.Load(fsys)
	d.must(err)
	d.must(fn(reg))
	d.must(reg.Save(fsys))
}

// Point makes a directory the mailbox of an agent of a test office.
func Point(fsys vfs.FS, name string) error {
	data, err := json.Marshal(office.Pointer{V: 1, Office: Dir, OfficeID: "o-test", Agent: name, AID: "a-" + name})
	if err != nil {
		return err
	}
	return errors.Join(spool.Replace(fsys, ".", office.PointerFile, data), fsys.SyncDir("."))
}

// Configure changes the office's rules.
func (d *Desk) Configure(fn func(*config.Office)) {
	d.T.Helper()
	cfg := d.Office().Config
	fn(&cfg)
	data, err := cfg.Encode()
	d.must(err)
	d.must(spool.Replace(d.sub(Dir), ".", config.OfficeFile, data))
}

// Join registers another agent and makes its mailbox: inside the office, or in
// the directory at, which is absolute and exists.
func (d *Desk) Join(name, at string) {
	d.T.Helper()
	box := spool.Box{FS: d.sub(Dir), Dir: office.AgentsDir + "/" + name, Shared: true}
	inbox := Dir + "/" + office.AgentsDir + "/" + name + "/inbox"
	if at != "" {
		box = spool.Box{FS: d.sub(at), Dir: "."}
		d.must(Point(box.FS, name))
		inbox = at + "/inbox"
	}
	d.must(box.Make())
	d.Edit(func(r *registry.Registry) error {
		return r.Add(registry.Entry{Name: name, AID: "a-" + name, InboxPath: inbox, Notify: []string{"none"}, Joined: d.Clock.Now()})
	})
}
