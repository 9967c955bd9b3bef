package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

// linkTeam is a hub and two offices, A and B, each with its postd.
type linkTeam struct {
	b        *bench
	a, z     string // offices
	hub      string // directory
	file     string // a message's text
	names    []string
	running  []*exec.Cmd
	watcher  *fsnotify.Watcher
	mu       sync.Mutex
	moved    sync.Cond
	there    map[string]time.Time // by file name: when it was seen in the far inbox
	back     map[string]time.Time // when its receipt had been taken here
	inFar    string               // the far inbox
	farInbox string               // of the far agent's mailbox here
}

func (t *linkTeam) sink() string { return sinkAgent + "@b" }

// makeTeam starts all and waits until A knows B's agent.
func (b *bench) makeTeam(name string, agents int) (*linkTeam, error) {
	t := &linkTeam{b: b, there: map[string]time.Time{}, back: map[string]time.Time{}, hub: filepath.Join(b.dir, name+"-hub"), z: filepath.Join(b.dir, name+"-b")}
	t.moved.L = &t.mu
	var err error
	if t.a, t.names, err = b.makeOffice(name+"-a", agents); err != nil {
		return nil, err
	}
	if t.file, err = b.bodyFile(); err != nil {
		return nil, err
	}
	if _, err := b.command(b.post, "init", t.z, "--person-check", "off"); err != nil {
		return nil, err
	}
	if _, err := b.command(b.post, "join", sinkAgent, "--office", t.z); err != nil {
		return nil, err
	}
	if err := t.start(); err != nil {
		t.stop()
		return nil, err
	}
	return t, nil
}

func (t *linkTeam) start() error {
	if err := t.startHub(); err != nil {
		return err
	}
	for _, o := range []struct{ dir, station string }{{t.a, "a"}, {t.z, "b"}} {
		line, err := t.invite()
		if err != nil {
			return err
		}
		join := exec.Command(t.b.postd, "link", "join", "-", "--station", o.station, "--office", o.dir)
		join.Env, join.Dir, join.Stdin = t.b.env(), t.b.dir, strings.NewReader(line+"\n")
		if out, err := join.CombinedOutput(); err != nil {
			return fmt.Errorf("post link join: %w: %s", err, out)
		}
		if _, err := t.run("serve", "--listen", "127.0.0.1:0", "--office", o.dir); err != nil {
			return err
		}
	}
	return t.watch()
}

// startHub returns when the hub has said where it is.
func (t *linkTeam) startHub() error {
	cmd := exec.Command(t.b.postd, "hub", "--server-only", "--listen", "127.0.0.1:0", "--dir", t.hub)
	cmd.Env, cmd.Dir, cmd.Stderr = t.b.env(), t.b.dir, t.b.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.running = append(t.running, cmd)
	said := bufio.NewScanner(out)
	for said.Scan() {
		if strings.HasPrefix(said.Text(), "postroom-join:") {
			return nil
		}
	}
	return errors.New("post hub printed no join line")
}

func (t *linkTeam) invite() (string, error) {
	out, err := t.b.command(t.b.postd, "hub", "invite", "--dir", t.hub)
	line, _, _ := strings.Cut(out, "\n")
	return line, err
}

// run starts a postd that runs until stop.
func (t *linkTeam) run(args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(t.b.postd, args...)
	cmd.Env, cmd.Dir, cmd.Stderr = t.b.env(), t.b.dir, t.b.stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.running = append(t.running, cmd)
	return cmd, nil
}

// spent is the processor time of the hub and the two postd serve until now.
func (t *linkTeam) spent() (out [3]time.Duration, err error) {
	for i, cmd := range t.running {
		if out[i], err = processorTime(cmd.Process.Pid); err != nil {
			return out, err
		}
	}
	return out, nil
}

// tick is the unit of times in /proc (USER_HZ), the same on all Linux.
const tick = 10 * time.Millisecond

// processorTime is what a process has used, in the program and in the kernel.
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	kernel, _ := strconv.Atoi(f[12])
	return time.Duration(user+kernel) * tick, nil
}

func (t *linkTeam) stop() {
	if t.watcher != nil {
		t.watcher.Close()
	}
	for i := len(t.running) - 1; i >= 0; i-- {
		t.running[i].Process.Signal(syscall.SIGTERM)
		t.running[i].Wait()
	}
}

// watch notes when messages come into the far inbox, and when their receipts
// have moved them away from the far agent's mailbox here.
func (t *linkTeam) watch() (err error) {
	t.inFar = filepath.Join(t.z, office.AgentsDir, sinkAgent, spool.Inbox)
	t.farInbox = filepath.Join(t.a, office.AgentsDir, t.sink(), spool.Inbox)
	if t.watcher, err = fsnotify.NewBufferedWatcher(4096); err != nil {
		return err
	}
	done := filepath.Join(t.a, office.AgentsDir, t.sink(), spool.Done)
	for end := time.Now().Add(linkWait); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(done); err == nil {
			break
		}
		if time.Now().After(end) {
			return errors.New("the offices did not get to know each other")
		}
	}
	if err := errors.Join(t.watcher.Add(t.inFar), t.watcher.Add(done)); err != nil {
		return err
	}
	go func() {
		for ev := range t.watcher.Events {
			name := filepath.Base(ev.Name)
			if !ev.Has(fsnotify.Create) || spool.Hidden(name) {
				continue
			}
			now := time.Now()
			t.mu.Lock()
			if filepath.Dir(ev.Name) == t.inFar {
				t.there[name] = now
			} else {
				t.back[name] = now
			}
			t.mu.Unlock()
			t.moved.Broadcast()
		}
	}()
	return nil
}

// until waits, holding the lock, until it is so.
func (t *linkTeam) until(is func() bool) error {
	late := false
	timer := time.AfterFunc(linkWait, func() {
		t.mu.Lock()
		late = true
		t.mu.Unlock()
		t.moved.Broadcast()
	})
	defer timer.Stop()
	for !is() && !late {
		t.moved.Wait()
	}
	if late {
		return errors.New("a message's receipt did not come back")
	}
	return nil
}

// journey is how long a message took, from before it was given to the mailbox.
type journey struct{ there, back time.Duration }

// carry sends messages one after the other as one agent.
func (t *linkTeam) carry(agent string, n int) ([]journey, error) {
	o, err := office.Open(t.a, cli.SystemEnv("bench").System)
	if err != nil {
		return nil, err
	}
	m, err := mailbox.Open(o, agent)
	if err != nil {
		return nil, err
	}
	var out []journey
	for i := range n {
		began := time.Now()
		sent, err := m.Send(mailbox.Draft{To: []string{t.sink()}, Act: mail.Inform, Subject: fmt.Sprint("bench ", i), Body: body, Again: true})
		if err != nil {
			return nil, err
		}
		if sent[0].Err != nil {
			return nil, sent[0].Err
		}
		name := spool.FileName(sent[0].Msg.ID)
		t.mu.Lock()
		err = t.until(func() bool { return !t.back[name].IsZero() && !t.there[name].IsZero() })
		out = append(out, journey{t.there[name].Sub(began), t.back[name].Sub(began)})
		t.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *linkTeam) oneByOne(n int) ([]journey, error) { return t.carry(t.names[0], n) }

// many has several agents at it at once, and says how long all took.
func (t *linkTeam) many(agents, each int) (time.Duration, error) {
	return inParallel(agents, func(i int) error {
		_, err := t.carry(t.names[i], each)
		return err
	})
}

// batch is from before the start of post send --batch to the last receipt.
func (t *linkTeam) batch(n int) (time.Duration, error) {
	t.mu.Lock()
	had := len(t.back)
	t.mu.Unlock()
	began := time.Now()
	if _, err := t.b.timed(bytes.NewReader(batchInput(t.sink(), n)), t.b.post, "send", "--batch", "--as", t.names[0], "--again", "--wait", "0s", "--office", t.a); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 4 { // stored: what was asked for
			return 0, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.until(func() bool { return len(t.back) >= had+n })
	return time.Since(began), err
}
