// Package demooffice fills an office as a team's looks after a week: twelve
// agents of different runtimes, thousands of messages in conversations, people
// asked and decisions made, debts, a bounce, and one thing that is broken. For
// `make demo-office`, and for tests and measurements that need such an office.
//
// Nothing is written past the protocol: messages are stored by mailbox, routed
// by router, read and done by their recipients, decided by approval, on a clock
// that is moved along. Only syncs are left out. So post verify finds nothing
// wrong, and the same seed tells the same stories.
package demooffice

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

//go:embed stories.txt
var stories string

const (
	// Messages is how many the office has if nobody says otherwise.
	Messages = 3000
	// perDay is about how many a day of the office has.
	perDay = 600
)

// Options say what kind of office is made.
type Options struct {
	Dir      string // absolute; new or empty
	Messages int    // about how many; 0 means Messages
	Seed     uint64
	Version  string // of the program that is said to have made it, "0.1.0"
	// Now is where the office's time ends, and reality begins; not zero.
	Now time.Time
	// Empty leaves it at the agents' and the channels' being there.
	Empty bool
}

// Made says what there is.
type Made struct{ Agents, Sent int }

// Fill makes an office in opt.Dir and fills it.
func Fill(opt Options) (Made, error) {
	all, err := parse(stories)
	if err != nil {
		return Made{}, err
	}
	if opt.Messages == 0 {
		opt.Messages = Messages
	}
	f := &filling{Options: opt, stories: all}
	f.span = max(36*time.Hour, time.Duration(float64(opt.Messages)/perDay*24*float64(time.Hour)))
	f.began = opt.Now.Add(-f.span)
	f.now = f.began
	if err := f.open(); err != nil {
		return Made{}, err
	}
	if opt.Empty {
		return f.made, nil
	}
	if err := f.tell(); err != nil {
		return f.made, fmt.Errorf("at %s: %w", f.now.UTC().Format(time.DateTime), err)
	}
	f.now = opt.Now
	return f.made, errors.Join(f.sessions(), f.breakSomething())
}

// filling is one office that is being filled.
type filling struct {
	Options
	stories []story
	office  *office.Office
	router  *router.Router
	boxes   map[string]*mailbox.Mailbox
	span    time.Duration
	began   time.Time
	now     time.Time
	looked  time.Time // when the person looked at notices last
	made    Made
}

// open makes the office, its agents and its channels.
func (f *filling) open() error {
	sys := cli.SystemEnv(f.Version).System
	real := sys.OpenFS
	sys.Now, sys.Parallel = func() time.Time { return f.now }, 1
	sys.Boot = func() (string, time.Duration, bool) { return "demo", f.now.Sub(f.began), true }
	sys.OpenFS = func(dir string) (vfs.FS, error) {
		fsys, err := real(dir)
		return Unsynced{fsys}, err
	}
	err := free(func() (err error) {
		f.office, _, err = office.Create(f.Dir, sys, office.CreateOptions{Name: "web shop", PersonCheck: config.PersonCheckOff})
		return err
	})
	if err != nil {
		return err
	}
	if err := f.rules(); err != nil {
		return err
	}
	if f.office, err = office.Open(f.Dir, sys); err != nil {
		return err
	}
	if err := f.join(); err != nil {
		return err
	}
	f.router, f.boxes = &router.Router{Office: f.office}, map[string]*mailbox.Mailbox{}
	for _, m := range append(cast(), member{name: office.Human}) {
		if f.boxes[m.name], err = mailbox.Open(f.office, m.name); err != nil {
			return err
		}
	}
	return nil
}

// rules are the office's own: an answer is due after half a day's work.
func (f *filling) rules() error {
	cfg := f.office.Config
	cfg.Policy.Due, cfg.Policy.Orchestrator = "4h", "lead"
	data, err := cfg.Encode()
	if err != nil {
		return err
	}
	return spool.Replace(f.office.FS, ".", config.OfficeFile, data)
}

// join registers everybody, as post join does.
func (f *filling) join() error {
	reg, err := f.office.Registry()
	if err != nil {
		return err
	}
	aids := map[string]string{}
	var records []journal.Record
	for i, m := range cast() {
		aids[m.name] = fmt.Sprintf("a-%012x", f.Seed<<16&0xffffffffffff|uint64(i+1))
		box := spool.Box{FS: f.office.FS, Dir: office.AgentsDir + "/" + m.name, Shared: true}
		if err := box.Make(); err != nil {
			return err
		}
		e := registry.Entry{Name: m.name, AID: aids[m.name], Role: m.role, Runtime: m.runtime, Joined: f.began,
			InboxPath: filepath.Join(f.Dir, office.AgentsDir, m.name, spool.Inbox), Transcript: "_inbox_" + m.name + ".md", Notify: []string{"none"}}
		if e.Workspace, err = f.workspace(m.name); err != nil {
			return err
		}
		if err := reg.Add(e); err != nil {
			return err
		}
		records = append(records, journal.Record{At: f.now, Event: journal.Joined, Agent: m.name, AID: e.AID, Detail: map[string]string{"runtime": m.runtime}})
	}
	if err := reg.Archive(aids["intern"], true); err != nil {
		return err
	}
	f.made.Agents = len(aids) - 1
	for _, name := range []string{"builders", "round", "storefront"} {
		var members []string
		for _, m := range channels()[name] {
			members = append(members, aids[m])
		}
		if err := reg.AddChannel(name, members...); err != nil {
			return err
		}
	}
	return errors.Join(reg.Save(f.office.FS), f.record(records...))
}

// workspace makes the directory in which an agent works, beside the office.
func (f *filling) workspace(name string) (string, error) {
	dir := filepath.Join(filepath.Dir(f.Dir), "work", name)
	return dir, os.MkdirAll(dir, 0o700)
}

func (f *filling) record(rs ...journal.Record) error {
	j, err := journal.Open(f.office.FS, f.now)
	if err != nil {
		return err
	}
	return errors.Join(j.Append(rs...), j.Close())
}

// sessions writes what the agents' sessions said last.
func (f *filling) sessions() error {
	for i, m := range cast() {
		if m.state == "" {
			continue
		}
		at := f.now.Add(-m.said)
		s := presence.Session{Runtime: m.runtime, ID: fmt.Sprintf("demo-%d", i), State: m.state, Since: at, At: at, Event: m.event, PID: m.pid,
			Cwd: filepath.Join(filepath.Dir(f.Dir), "work", m.name)}
		if m.pid != 0 {
			s.Start = "1"
		}
		if err := presence.WriteIn(f.office.FS, office.AgentsDir+"/"+m.name, s); err != nil {
			return err
		}
	}
	return nil
}

// breakSomething leaves a mailbox that others may read: doctor finds and mends it.
func (f *filling) breakSomething() error {
	return os.Chmod(filepath.Join(f.Dir, office.AgentsDir, "tester"), 0o755)
}

// last is the later of two times.
func last(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
