package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// real lets two real offices join the team and says what each pays for knowing
// everybody.
func (s *sim) real(ctx context.Context) error {
	a, err := s.realOffice("a")
	if err != nil {
		return err
	}
	b, err := s.realOffice("b")
	if err != nil {
		return err
	}
	if err := s.served(a); err != nil {
		return err
	}
	defer func() { a.serve.stop() }()
	time.Sleep(2 * time.Second)
	say("an office that knows nobody: %s", s.pays(a, "near"))
	if err := s.linked(a); err != nil {
		return err
	}
	if err := s.linked(b); err != nil {
		return err
	}
	if err := s.served(b); err != nil {
		return err
	}
	defer func() { b.serve.stop() }()
	want := s.n*(s.agents+2) + 5 // b's three agents, its person and its postroom
	if err := s.settles(ctx, a, want); err != nil {
		return err
	}
	say("an office that knows all: %s", s.pays(a, "near", "far@b"))
	before, began := a.serve.usage(), time.Now()
	time.Sleep(s.span)
	d := time.Since(began)
	say("… its postd serve idle: %.1f %% of a processor", 100*(a.serve.usage().cpu-before.cpu).Seconds()/d.Seconds())
	return s.again(ctx, a)
}

// office is a real one.
type realOffice struct {
	name, dir string
	serve     *process
}

func (s *sim) realOffice(name string) (*realOffice, error) {
	o := &realOffice{name: name, dir: filepath.Join(s.dir, "office-"+name)}
	if _, err := s.command("", s.post, "init", o.dir, "--person-check", "off"); err != nil {
		return nil, err
	}
	for _, agent := range []string{"near", "far", "me"} {
		if _, err := s.command("", s.post, "join", agent, "--notify", "none", "--office", o.dir); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (s *sim) served(o *realOffice) (err error) {
	if o.serve, err = s.start("serve", "--listen", "127.0.0.1:0", "--office", o.dir); err != nil {
		return err
	}
	return o.serve.cmd.Start()
}

func (s *sim) linked(o *realOffice) error {
	out, err := s.command("", s.postd, "hub", "invite", "--dir", s.hubDir())
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(out, "\n")
	_, err = s.command(line+"\n", s.postd, "link", "join", "-", "--station", o.name, "--office", o.dir)
	return err
}

// settles waits until an office has a mailbox for everybody, and says meanwhile
// how long mail within the office took.
func (s *sim) settles(ctx context.Context, o *realOffice, want int) error {
	before, began := o.serve.usage(), time.Now()
	slowest := time.Duration(0)
	known := 0
	all := until(ctx, 5*time.Minute, func() bool {
		at := time.Now()
		if _, err := s.send(o, "near"); err == nil {
			slowest = max(slowest, time.Since(at))
		}
		text, _ := os.ReadFile(filepath.Join(o.dir, "registry.json"))
		known = strings.Count(string(text), `"station"`)
		time.Sleep(100 * time.Millisecond)
		return known >= want
	})
	after := o.serve.usage()
	say("… got to know %d far mailboxes in %.1f s (all: %v), %.1f s of processor, %s (at most %s); the slowest post send within the office meanwhile took %.2f s", known,
		time.Since(began).Seconds(), all, (after.cpu - before.cpu).Seconds(), mb(after.rss), mb(after.peak), slowest.Seconds())
	return nil
}

func (s *sim) send(o *realOffice, to string) (string, error) {
	return s.command("", s.post, "send", to, "--as", "me", "--again", "-m", "hello", "--office", o.dir)
}

// pays is what single commands cost, medians of 15, and what lies on the disk.
func (s *sim) pays(o *realOffice, to ...string) string {
	var out []string
	timed := func(what string, run func() error) {
		var took []time.Duration
		var failed error
		for range 15 {
			began := time.Now()
			failed = errors.Join(failed, run())
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		text := fmt.Sprintf("%s %.1f ms", what, took[len(took)/2].Seconds()*1000)
		if failed != nil {
			text += fmt.Sprintf(" (%v)", failed)
		}
		out = append(out, text)
	}
	for _, who := range to {
		timed("send to "+who, func() error { _, err := s.send(o, who); return err })
	}
	timed("inbox", func() error {
		_, err := s.command("", s.post, "inbox", "-q", "--as", "near", "--office", o.dir)
		return err
	})
	timed("agents", func() error { _, err := s.command("", s.post, "agents", "--office", o.dir); return err })
	fi, err := os.Stat(filepath.Join(o.dir, "registry.json"))
	if err == nil {
		out = append(out, fmt.Sprintf("registry %d KB", fi.Size()>>10))
	}
	u := o.serve.usage()
	return strings.Join(append(out, sizeOf(o.dir), "postd serve "+mb(u.rss)+" (at most "+mb(u.peak)+")"), ", ")
}

// again restarts postd serve.
func (s *sim) again(ctx context.Context, o *realOffice) error {
	o.serve.stop()
	began := time.Now()
	if err := s.served(o); err != nil {
		return err
	}
	ok := until(ctx, time.Minute, func() bool { _, err := s.send(o, "far@b"); return err == nil })
	say("… started again: mail to a far agent had its receipt %.1f s after the start (%v)", time.Since(began).Seconds(), ok)
	return nil
}
