//go:build e2e && linux

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// message is what the checker reads of a message file.
type message struct {
	ID, From, To, Act, Subject, Body string
	InReplyTo                        string `json:"in_reply_to"`
	Conversation                     string
	Hops                             int
	NeedsHuman                       bool `json:"needs_human"`
	Envelope                         *struct {
		Recipients, CC []string
		ClaimedID      string `json:"claimed_id"`
	}

	raw  string
	path string
}

// correspondent is one mailbox, as it is on disk.
type correspondent struct {
	name, aid, dir                                string
	inbox, done, outbox, sent, failed, notRegular map[string]message
	index                                         []indexLine
	transcript                                    string
}

type indexLine struct {
	Seq                       int
	ID, Digest, From, Act, As string
}

type record struct {
	N                             int
	Event, ID, Agent, AID, Digest string
	Seq                           int
	Prev                          string
	Detail                        map[string]string
}

// snapshot is a whole office, read by nothing but file calls.
type snapshot struct {
	desk        *desk
	boxes       map[string]*correspondent // by name, human and postroom too
	byAID       map[string]*correspondent
	messages    map[string]message
	asked       map[string][]string // message id: its approvals, open and decided
	journal     []record
	sections    map[string][]string // transcript: message ids in order
	wrong       []string
	allowBroken bool
}

func (s *snapshot) bad(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// look reads the office.
func (d *desk) look() *snapshot {
	d.t.Helper()
	s := &snapshot{desk: d, boxes: map[string]*correspondent{}, byAID: map[string]*correspondent{}, asked: map[string][]string{},
		sections: map[string][]string{}}
	var reg struct {
		Agents []struct {
			AID, Name, Transcript string
			InboxPath             string `json:"inbox_path"`
		}
	}
	must(d.t, json.Unmarshal([]byte(read(d.t, filepath.Join(d.office, "registry.json"))), &reg))
	for _, a := range reg.Agents {
		if a.Transcript == "" {
			a.Transcript = "_inbox_" + a.Name + ".md"
		}
		s.add(&correspondent{name: a.Name, aid: a.AID, dir: filepath.Dir(a.InboxPath), transcript: a.Transcript})
	}
	for _, n := range []string{"human", "postroom"} {
		s.add(&correspondent{name: n, dir: d.box(n)})
	}
	s.messages = map[string]message{}
	months, _ := filepath.Glob(filepath.Join(d.office, "messages", "*"))
	for _, m := range months {
		for id, msg := range s.mail(m) {
			s.messages[id] = msg
		}
	}
	s.readApprovals()
	s.readJournal()
	s.readTranscripts()
	return s
}

func (s *snapshot) add(c *correspondent) {
	s.boxes[c.name] = c
	if c.aid != "" {
		s.byAID[c.aid] = c
	}
	c.inbox, c.done = s.mail(c.dir+"/inbox"), s.mail(c.dir+"/inbox/.done")
	c.outbox, c.sent, c.failed = s.mail(c.dir+"/outbox"), s.mail(c.dir+"/outbox/.sent"), s.mail(c.dir+"/outbox/.failed")
	data, err := os.ReadFile(c.dir + "/index.jsonl")
	if err != nil && !os.IsNotExist(err) {
		s.bad("%v", err)
	}
	for i, line := range lines(string(data)) {
		var l indexLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			s.bad("index of %s, line %d: %v", c.name, i+1, err)
			continue
		}
		c.index = append(c.index, l)
	}
}

func lines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// mail reads the message files of a directory, by id (by name, if it has none).
func (s *snapshot) mail(dir string) map[string]message {
	list, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		s.bad("%v", err)
	}
	out := map[string]message{}
	for _, e := range list {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.Contains(name, ".tmp-") || !strings.HasSuffix(name, ".json") ||
			strings.HasSuffix(name, ".why.json") || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		id := strings.TrimSuffix(name, ".json")
		m := message{raw: string(data), path: path}
		if err := json.Unmarshal(data, &m); err != nil || m.ID != id {
			m = message{raw: string(data), path: path}
		}
		out[id] = m
	}
	return out
}

func (s *snapshot) readApprovals() {
	for _, dir := range []string{"approvals", "approvals/.done"} {
		list, _ := filepath.Glob(filepath.Join(s.desk.office, dir, "ap-*.json"))
		for _, f := range list {
			var a struct {
				Message  string
				Approval struct{ Message string }
			}
			data, err := os.ReadFile(f)
			if err == nil {
				err = json.Unmarshal(data, &a)
			}
			if err != nil {
				s.bad("%s: %v", f, err)
			}
			id := a.Message + a.Approval.Message
			if name := filepath.Base(f); !slices.Contains(s.asked[id], name) {
				s.asked[id] = append(s.asked[id], name)
			} else {
				s.bad("%s stands in approvals and in .done", name)
			}
		}
	}
}

// readJournal reads the chain and checks it.
func (s *snapshot) readJournal() {
	files, _ := filepath.Glob(filepath.Join(s.desk.office, "journal", "*.jsonl"))
	slices.Sort(files)
	prev := ""
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			s.bad("%v", err)
		}
		for i, line := range lines(string(data)) {
			var r record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				s.bad("%s line %d: %v", filepath.Base(f), i+1, err)
				continue
			}
			if r.Prev != prev || r.N != len(s.journal)+1 {
				s.bad("the journal's chain breaks at record %d (%s)", r.N, r.Event)
			}
			prev = digest(line)
			s.journal = append(s.journal, r)
		}
	}
}

// readTranscripts finds the sections by what a reader would take for one.
func (s *snapshot) readTranscripts() {
	files, _ := filepath.Glob(filepath.Join(s.desk.office, "transcripts", "*.md"))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			s.bad("%v", err)
		}
		name, all := filepath.Base(f), lines(string(data))
		for i, line := range all {
			if !strings.HasPrefix(line, "## [") {
				continue
			}
			id := ""
			if i+2 < len(all) {
				id = anyID.FindString(all[i+2][strings.LastIndex(all[i+2], "·")+1:])
			}
			if id == "" {
				s.bad("%s line %d: a section without a message", name, i+1)
				continue
			}
			s.sections[name] = append(s.sections[name], id)
		}
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
