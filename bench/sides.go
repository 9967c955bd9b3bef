package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// cheap is how many rounds a measurement of single processes has at least.
const cheap = 25

// side is one of the things that are measured against each other.
type side struct {
	do   func(round int) (time.Duration, error)
	took []time.Duration
}

func (s *side) median() time.Duration { return median(s.took) }

// interleave measures the sides in turn, beginning with another one each round,
// so that nothing always runs behind the same neighbour. A first round warms
// the caches and does not count.
func interleave(rounds int, sides ...*side) error {
	for r := range rounds + 1 {
		for i := range sides {
			s := sides[(r+i)%len(sides)]
			d, err := s.do(r)
			if err != nil {
				return err
			}
			if r > 0 {
				s.took = append(s.took, d)
			}
		}
	}
	return nil
}

// process is a side that starts a program; args gives each round's arguments.
func (b *bench) process(program string, args func(round int) []string) *side {
	return &side{do: func(round int) (time.Duration, error) { return b.timed(nil, program, args(round)...) }}
}

func always(args ...string) func(int) []string { return func(int) []string { return args } }

// timed runs a program and measures it from before its start until its end was
// seen. Its output is not looked at, so that nothing of ours runs beside it.
func (b *bench) timed(stdin io.Reader, program string, args ...string) (time.Duration, error) {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = b.env(), b.dir, stdin
	cmd.Stderr = b.stderr // a file, so that nothing is copied
	begin := time.Now()
	err := cmd.Run()
	d := time.Since(begin)
	if err != nil {
		text, _ := os.ReadFile(b.stderr.Name())
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, bytes.TrimSpace(text))
	}
	return d, err
}

// bodyFile is the text of a message in a file.
func (b *bench) bodyFile() (string, error) {
	name := filepath.Join(b.dir, "body.txt")
	return name, os.WriteFile(name, []byte(body), 0o600)
}

// sendArgs are the arguments that send one message, whatever was sent before.
func sendArgs(office, from, to, file string) []string {
	return []string{"send", to, "--as", from, "--again", "-f", file, "--office", office}
}

// reference is a side that runs the reference sender in a directory of its own.
func (b *bench) reference(name string) (*side, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return b.process(b.sender, func(r int) []string { return []string{dir, fmt.Sprint(r)} }), nil
}
