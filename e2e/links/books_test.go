//go:build e2e && linux

package links

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

// letter is what the checker reads of a message file.
type letter struct {
	ID, From, To, Act, Subject, Body string
	InReplyTo                        string `json:"in_reply_to"`
	Conversation, Office, Station    string
	Hops                             int
	Requires                         bool `json:"requires_reply"`
	Envelope                         *struct{ Recipients, CC []string }

	raw string
}

// agent is one correspondent of an office and its mailbox; of a far one it is
// the mailbox that stands here for it.
type agent struct {
	name, aid, station                string
	inbox, done, outbox, sent, failed map[string]letter
	index                             []indexed
}

type indexed struct {
	Seq          int
	ID, From, As string
	Digest       string
}

// record is one line of the journal.
type record struct {
	N                                 int
	Event, ID, Agent, AID, From, Prev string
	Detail                            map[string]string
}

// books is a whole office, read by nothing but file calls.
type books struct {
	station  string
	agents   map[string]*agent // by name, human and postroom too
	byAID    map[string]*agent
	messages map[string]letter
	asked    map[string]int // message id: approvals, open and decided
	journal  []record
	open     map[string]string // debts, "id debtor": creditor
	counts   map[string]map[string]int
	wrong    []string
}

func (b *books) bad(format string, args ...any) {
	b.wrong = append(b.wrong, b.station+": "+fmt.Sprintf(format, args...))
}

// read reads the office.
func (s *station) read() *books { return readBooks(s.name, s.office) }

func readBooks(station, dir string) *books {
	b := readBoxes(station, dir)
	months, _ := filepath.Glob(filepath.Join(dir, "messages", "*"))
	for _, m := range months {
		for id, l := range b.mail(m) {
			b.messages[id] = l
		}
	}
	b.readApprovals(dir)
	b.readJournal(dir)
	b.readDebts(dir)
	return b
}

// readBoxes reads the mailboxes alone.
func readBoxes(station, dir string) *books {
	b := &books{station: station, agents: map[string]*agent{}, byAID: map[string]*agent{}, messages: map[string]letter{},
		asked: map[string]int{}, open: map[string]string{}}
	var reg struct {
		Agents []struct {
			AID, Name, Station string
			InboxPath          string `json:"inbox_path"`
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "registry.json"))
	if err == nil {
		err = json.Unmarshal(data, &reg)
	}
	if err != nil {
		b.bad("registry: %v", err)
	}
	for _, a := range reg.Agents {
		b.add(&agent{name: a.Name, aid: a.AID, station: a.Station}, filepath.Dir(a.InboxPath))
	}
	for _, n := range []string{"human", "postroom"} {
		b.add(&agent{name: n}, filepath.Join(dir, "agents", n))
	}
	return b
}

func (b *books) add(a *agent, dir string) {
	b.agents[a.name] = a
	if a.aid != "" {
		b.byAID[a.aid] = a
	}
	a.inbox, a.done = b.mail(dir+"/inbox"), b.mail(dir+"/inbox/.done")
	a.outbox, a.sent, a.failed = b.mail(dir+"/outbox"), b.mail(dir+"/outbox/.sent"), b.mail(dir+"/outbox/.failed")
	for i, line := range readLines(dir + "/index.jsonl") {
		var l indexed
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			b.bad("index of %s, line %d: %v", a.name, i+1, err)
			continue
		}
		a.index = append(a.index, l)
	}
}

func readLines(file string) []string {
	data, _ := os.ReadFile(file)
	text := strings.TrimSuffix(string(data), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// mail reads the message files of a directory, by id (by name, if it has none).
func (b *books) mail(dir string) map[string]letter {
	list, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		b.bad("%v", err)
	}
	out := map[string]letter{}
	for _, e := range list {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.Contains(name, ".tmp-") || !strings.HasSuffix(name, ".json") ||
			strings.HasSuffix(name, ".why.json") || !e.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue // moved meanwhile
		}
		l := letter{raw: string(data)}
		if err := json.Unmarshal(data, &l); err != nil || l.ID+".json" != name {
			l = letter{raw: string(data)} // written by hand
		}
		out[strings.TrimSuffix(name, ".json")] = l
	}
	return out
}

func (b *books) readApprovals(dir string) {
	seen := map[string]bool{}
	for _, sub := range []string{"approvals", "approvals/.done"} {
		list, _ := filepath.Glob(filepath.Join(dir, sub, "ap-*.json"))
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
				b.bad("%s: %v", f, err)
			}
			if !seen[filepath.Base(f)] {
				b.asked[a.Message+a.Approval.Message]++
			}
			seen[filepath.Base(f)] = true
		}
	}
}

// readJournal reads the chain and checks it.
func (b *books) readJournal(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "journal", "*.jsonl"))
	slices.Sort(files)
	prev := ""
	for _, f := range files {
		for i, line := range readLines(f) {
			var r record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				b.bad("%s line %d: %v", filepath.Base(f), i+1, err)
				continue
			}
			if r.Prev != prev || r.N != len(b.journal)+1 {
				b.bad("the journal's chain breaks at record %d (%s)", r.N, r.Event)
			}
			prev = digest(line)
			b.journal = append(b.journal, r)
		}
	}
}

// readDebts folds the ledger into who owes what now.
func (b *books) readDebts(dir string) {
	for i, line := range readLines(filepath.Join(dir, "debts.jsonl")) {
		var e struct{ Event, ID, Debtor, Creditor string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			b.bad("debts.jsonl line %d: %v", i+1, err)
			continue
		}
		key := e.ID + " " + e.Debtor
		switch e.Event {
		case "owe":
			b.open[key] = e.Creditor
		case "settle", "waive":
			delete(b.open, key)
		}
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// has is what an agent has, handled or not. What is in both places was being
// put away.
func (a *agent) has() map[string]letter {
	out := map[string]letter{}
	for _, dir := range []map[string]letter{a.inbox, a.done} {
		for id, l := range dir {
			out[id] = l
		}
	}
	return out
}

// events counts the journal's records of an event by "id agent's aid".
func (b *books) events(event string) map[string]int {
	out := map[string]int{}
	for _, r := range b.journal {
		if r.Event == event {
			out[r.ID+" "+r.AID]++
		}
	}
	return out
}
