package main

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"time"
)

// watched is how many messages a watcher is sent at least: its 99th percentile
// is wanted.
const watched = 200

// watch measures from before the start of post send to the line that post watch
// prints.
func watch(b *bench) error {
	dir, _, err := b.makeOffice("watch", 2)
	if err != nil {
		return err
	}
	file, err := b.bodyFile()
	if err != nil {
		return err
	}
	cmd := exec.Command(b.post, "watch", "--as", "a1", "--office", dir)
	cmd.Env, cmd.Dir, cmd.Stderr = b.env(), b.dir, b.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lines := arrivalsOf(out)
	var seen, sent []time.Duration
	for i := range max(watched, 10*b.rounds) + 5 {
		begin := time.Now()
		wall, err := b.timed(nil, b.post, sendArgs(dir, "a0", "a1", file)...)
		if err != nil {
			return err
		}
		select {
		case at, ok := <-lines:
			if !ok {
				return errors.New("post watch ended")
			}
			if i >= 5 { // the first ones wait for the watcher to start
				seen, sent = append(seen, at.Sub(begin)), append(sent, wall)
			}
		case <-time.After(10 * time.Second):
			return errors.New("post watch did not show a message")
		}
	}
	send := median(sent)
	for _, w := range []struct {
		what string
		q    float64
		goal float64
	}{{"send → line of post watch, p50", 0.5, 1}, {"send → line of post watch, p99", 0.99, 3.5}} {
		d := quantile(seen, w.q)
		b.atMost(w.what, ms(d), "post send p50 "+ms(send), d.Seconds()/send.Seconds(), w.goal)
	}
	return nil
}

// arrivalsOf gives the time of each line.
func arrivalsOf(r io.Reader) <-chan time.Time {
	lines := make(chan time.Time, 64)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			lines <- time.Now()
		}
	}()
	return lines
}
