package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// pageGoal is what a page may take from the request to its last byte.
	pageGoal = 100 * time.Millisecond
	// liveGoal is from before the start of post send until the part of the page
	// that shows the message is there.
	liveGoal = 300 * time.Millisecond
)

// webPages are the pages that are loaded; of the newest message and its thread
// the addresses are found out.
func webPages() []string {
	return []string{"/", "/inbox", "/threads", "/agents", "/agents/a0", "/debts", "/search?q=green+from:a3", "message", "thread"}
}

// web measures the page with -web messages and with a thousand: how long a page
// takes, and a message until it is on it.
func web(b *bench) error {
	if err := b.fits(b.web + smallMail); err != nil {
		return err
	}
	small, err := b.site("web-small", smallMail)
	if err != nil {
		return err
	}
	defer small.stop()
	large, err := b.site("web-large", b.web)
	if err != nil {
		return err
	}
	defer large.stop()
	for _, page := range webPages() {
		few, many := small.load(page), large.load(page)
		if err := interleave(max(b.rounds, cheap), few, many); err != nil {
			return err
		}
		what := fmt.Sprintf("page %s, %d messages", page, b.web)
		b.atMost(what, millis(many), "goal "+ms(pageGoal), against(many.took, pageGoal), 1)
		b.note(what, millis(many), fmt.Sprintf("%d messages: %s", smallMail, millis(few)), over(many, few))
	}
	few, many := small.news(), large.news()
	if err := interleave(max(b.rounds, cheap), few, many); err != nil {
		return err
	}
	for _, s := range []struct {
		n int
		s *side
	}{{smallMail, few}, {b.web, many}} {
		b.atMost(fmt.Sprintf("post send → on the floor, %d messages", s.n), millis(s.s), "goal "+ms(liveGoal), against(s.s.took, liveGoal), 1)
	}
	return nil
}

// site is a postd that serves an office, and a browser of sorts that was let in.
type site struct {
	b      *bench
	dir    string
	serve  *exec.Cmd
	base   string
	client *http.Client
	listen *http.Response
	events chan string // names and data
	file   string
	sent   int
}

// site makes an office with n archived messages, its index, and serves it.
func (b *bench) site(name string, n int) (*site, error) {
	s := &site{b: b}
	var names []string
	var err error
	if s.dir, names, err = b.makeOffice(name, smallAgents); err != nil {
		return nil, err
	}
	f, err := newFiller(s.dir, names, n)
	if err != nil {
		return nil, err
	}
	if err := f.archive(); err != nil {
		return nil, err
	}
	if s.file, err = b.bodyFile(); err != nil {
		return nil, err
	}
	if _, err := b.command(b.post, "search", "--office", s.dir, "green"); err != nil { // the index is there before anybody looks
		return nil, err
	}
	if err := s.start(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *site) start() error {
	s.serve = exec.Command(s.b.postd, "serve", "--office", s.dir)
	s.serve.Env, s.serve.Dir, s.serve.Stderr = s.b.env(), s.b.dir, s.b.stderr
	out, err := s.serve.StdoutPipe()
	if err == nil {
		err = s.serve.Start()
	}
	if err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("postd serve: %w", err)
	}
	go io.Copy(io.Discard, out)
	text, err := s.b.command(s.b.post, "ui", "--print", "--plain", "--json", "--as", "human", "--office", s.dir)
	if err != nil {
		return err
	}
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(text), &link); err != nil {
		return err
	}
	u, err := url.Parse(link.URL)
	if err != nil {
		return err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	s.base, s.client = u.Scheme+"://"+u.Host, &http.Client{Jar: jar}
	if _, err := s.get(u.RequestURI()); err != nil {
		return err
	}
	return s.follow()
}

// stop ends postd.
func (s *site) stop() {
	if s.listen != nil {
		s.listen.Body.Close()
	}
	if s.serve != nil && s.serve.Process != nil {
		s.serve.Process.Signal(syscall.SIGTERM)
		s.serve.Wait()
	}
}

// get loads one page, to its last byte.
func (s *site) get(path string) ([]byte, error) {
	res, err := s.client.Get(s.base + path)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.300s", path, res.Status, text)
	}
	return text, err
}

// load is a side that loads a page.
func (s *site) load(page string) *side {
	path := page
	return &side{do: func(int) (time.Duration, error) {
		if path == "message" || path == "thread" {
			var err error
			if path, err = s.newest(path); err != nil {
				return 0, err
			}
		}
		begin := time.Now()
		_, err := s.get(path)
		return time.Since(begin), err
	}}
}

// newest is the page of the newest message, or of its conversation.
func (s *site) newest(what string) (string, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "messages", "*", "*.json"))
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, errors.New("the office has no messages"))
	}
	data, err := os.ReadFile(files[len(files)-1])
	var m struct{ ID, Conversation string }
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if what == "thread" {
		return "/threads/" + m.Conversation, err
	}
	return "/message/" + m.ID, err
}

// follow listens to the events, as every open page does.
func (s *site) follow() error {
	var err error
	if s.listen, err = s.client.Get(s.base + "/live"); err != nil {
		return err
	}
	s.events = make(chan string, 4096)
	go func() {
		defer close(s.events)
		lines := bufio.NewScanner(s.listen.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				s.events <- data
			}
		}
	}()
	return nil
}

// news is a side that sends a message in a shell, waits for the event of its
// delivery, and loads the part of the floor that shows it.
func (s *site) news() *side {
	return &side{do: func(int) (time.Duration, error) {
		s.sent++
		subject := fmt.Sprintf("news %d", s.sent)
		begin := time.Now()
		sending := make(chan error, 1)
		go func() {
			_, err := s.b.command(s.b.post, append(sendArgs(s.dir, "a2", "a1", s.file), "-s", subject)...)
			sending <- err
		}()
		for event := range s.events {
			if !strings.Contains(event, `"delivered"`) {
				continue
			}
			text, err := s.get("/?part=lately")
			if err != nil {
				return 0, err
			}
			if bytes.Contains(text, []byte(subject+"<")) {
				return time.Since(begin), <-sending
			}
		}
		return 0, errors.New("the events ended")
	}}
}
