package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/search"
)

const (
	// searchGoal is what the newest 20 hits may take, however many messages there are.
	searchGoal = 3 * time.Millisecond
	// searchGrowth is by how much more they may take with all than with a tenth.
	searchGrowth = 3.0
	// searches is how often each query is asked in a round.
	searches = 40
	// vocabulary is how many words the texts are made of, by Zipf's law.
	vocabulary = 20_000
	// textWords make a text of 1 KB.
	textWords = 150
)

// searched are the queries that are measured. The words are numbers of the
// vocabulary: w0 is in nearly every text, w3000 in one of some hundred.
func searched() []struct{ what, query string } {
	return []struct{ what, query string }{
		{"a common word", "w3"},
		{"a word in one of some hundred", "w3000"},
		{"two common words", "w3 w5"},
		{"a phrase", `"w1 w2"`},
		{"sender and word", "from:a3 w5"},
		{"no words, unread", "state:unread"},
		{"word, three days of thirty", "w5 before:12d after:15d"},
	}
}

// searching measures the index with -search messages and with a tenth of them.
func searching(b *bench) error {
	if err := b.fits(b.search + b.search/10); err != nil {
		return err
	}
	small, err := b.indexed("search-small", b.search/10)
	if err != nil {
		return err
	}
	defer small.Close()
	large, err := b.indexed("search-large", b.search)
	if err != nil {
		return err
	}
	defer large.Close()
	for _, q := range searched() {
		if err := b.compareSearch(q.what, q.query, small, large); err != nil {
			return err
		}
	}
	begin := time.Now()
	if _, err := ask(large, "w3", true); err != nil {
		return err
	}
	b.note(fmt.Sprintf("search by rank, a common word, %d messages", b.search), ms(time.Since(begin)), "goal of the newest "+ms(searchGoal), float64(time.Since(begin))/float64(searchGoal))
	return b.searchProcess()
}

func (b *bench) compareSearch(what, query string, small, large *search.Index) error {
	var few, many []time.Duration
	for range b.rounds {
		for _, side := range []struct {
			x    *search.Index
			list *[]time.Duration
		}{{small, &few}, {large, &many}} {
			for range searches {
				begin := time.Now()
				n, err := ask(side.x, query, false)
				if err != nil {
					return err
				}
				*side.list = append(*side.list, time.Since(begin))
				if n == 0 {
					return fmt.Errorf("%s finds nothing", query)
				}
			}
		}
	}
	name := fmt.Sprintf("newest 20 of %d messages, %s", b.search, what)
	b.atMost(name, ms(median(many)), "goal "+ms(searchGoal), against(many, searchGoal), 1)
	b.atMost(name, ms(median(many)), fmt.Sprintf("of %d: %s", b.search/10, ms(median(few))), against(many, median(few)), searchGrowth)
	return nil
}

func against(list []time.Duration, ref time.Duration) float64 {
	return float64(median(list)) / float64(ref)
}

// ask searches as the page does: the index is open and up to date.
func ask(x *search.Index, query string, rank bool) (int, error) {
	q, err := search.Parse(query, time.Now())
	if err != nil {
		return 0, err
	}
	f, err := x.Find(context.Background(), search.Request{Query: q, Limit: 20, Rank: rank})
	if len(f.Doubtful) > 0 {
		err = fmt.Errorf("%d hits are not what was indexed", len(f.Doubtful))
	}
	return len(f.Hits), err
}

// indexed makes an office with n messages and its index.
func (b *bench) indexed(name string, n int) (*search.Index, error) {
	dir, names, err := b.makeOffice(name, smallAgents)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := corpus(dir, names, n); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "  office %s: %d messages in %.0f s\n", name, n, time.Since(begin).Seconds())
	o, err := office.Open(dir, cli.SystemEnv("bench").System)
	if err != nil {
		return nil, err
	}
	reg, err := o.Registry()
	if err != nil {
		return nil, err
	}
	x, err := search.Open(context.Background(), search.Dir(filepath.Join(b.dir, "state", "postroom"), o), o, reg)
	if err != nil {
		return nil, err
	}
	begin = time.Now()
	if _, err := x.Update(context.Background()); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	if have, err := x.Count(context.Background()); err != nil || have != n {
		return nil, fmt.Errorf("%d of %d messages are indexed: %w", have, n, err)
	}
	fi, err := os.Stat(x.Path())
	if err != nil {
		return nil, err
	}
	size := float64(fi.Size()) / mib
	b.note(fmt.Sprintf("index of %d messages built", n), fmt.Sprintf("%.0f/s, %.0f MB", float64(n)/took.Seconds(), size), "7200/s, 69 MB for 100000", float64(n)/took.Seconds()/7200)
	if b.verify {
		r, err := x.Verify(context.Background())
		if err != nil || r.Wrong > 0 {
			return nil, fmt.Errorf("%s: %v %w", name, r.Faults, err)
		}
	}
	return x, nil
}

// searchProcess measures what a person types.
func (b *bench) searchProcess() error {
	large := b.process(b.post, always("search", "-q", "--office", filepath.Join(b.dir, "search-large"), "w3000"))
	version := b.process(b.postd, always("version"))
	if err := interleave(max(b.rounds, cheap), large, version); err != nil {
		return err
	}
	b.note(fmt.Sprintf("post search, the process, %d messages", b.search), millis(large), "postd version "+millis(version), over(large, version))
	return nil
}

// corpus writes the office's copies and the journal of n messages over thirty
// days, in bulk and unsynced: what an index is made from, and nothing else.
func corpus(dir string, names []string, n int) error {
	f, err := newFiller(dir, names, n)
	if err != nil {
		return err
	}
	words := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.07, 4, vocabulary-1)
	made := map[string]bool{}
	records := make([]journal.Record, 0, perGroup)
	for i := range n {
		f.now = f.now.Add(span / time.Duration(n+1))
		from, to := i%len(names), (i+1+i/len(names)%(len(names)-1))%len(names)
		m, data, err := f.text(from, to, words)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(office.MessagePath(m.ID)))
		if month := filepath.Dir(path); !made[month] {
			if err := os.MkdirAll(month, 0o700); err != nil {
				return err
			}
			made[month] = true
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
		r := f.boxes[to].Author
		records = append(records, journal.Record{At: f.now, Event: journal.Delivered, ID: m.ID, Agent: r.Name, AID: r.AID, Seq: uint64(i + 1),
			Digest: mail.DigestOf(data), As: mail.AsTo, From: m.From, Act: string(m.Act), Conversation: m.Conversation})
		if len(records) == cap(records) || i == n-1 {
			if err := f.journal.Append(records...); err != nil {
				return err
			}
			records = records[:0]
		}
	}
	return f.finished()
}

// text makes one message of 1 KB of words.
func (f *filler) text(from, to int, words *rand.Zipf) (*mail.Message, []byte, error) {
	var b strings.Builder
	for range textWords {
		fmt.Fprintf(&b, "w%d ", words.Uint64())
	}
	a, w := f.boxes[from].Author, f.world
	w.Sender = a.Agent
	m, bounce := f.Stamp(&mail.Message{From: a.Name, To: f.boxes[to].Author.Name, Act: mail.Inform, Subject: fmt.Sprintf("build w%d", words.Uint64()), Body: b.String()},
		a, f.clocks[from].Next(f.now, a.Tag()), w, f.now)
	if bounce != nil {
		return nil, nil, fmt.Errorf("the rules refuse: %s", bounce.Reason)
	}
	data, err := m.Encode()
	return m, data, err
}
