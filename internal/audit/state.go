package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// State is audit.json. Losing it costs one thorough comparison.
type State struct {
	V        int       `json:"v"`
	Last     *Commit   `json:"last,omitempty"`
	Since    time.Time `json:"since,omitzero"` // when the last good comparison began
	Seen     string    `json:"seen,omitempty"` // fingerprint of the office at that time
	Try      time.Time `json:"last_try,omitzero"`
	Failures int       `json:"failures"` // in a row
	Error    *Trouble  `json:"error,omitempty"`
	Locks    []Lock    `json:"locks,omitempty"` // that stood in the way at the last try
	Growth   *Growth   `json:"growth,omitempty"`

	pending string
}

// Trouble is the failure that lasts.
type Trouble struct {
	At   time.Time `json:"at"`
	Kind mail.Kind `json:"kind"`
	Text string    `json:"text"`
}

// stateMax bounds audit.json, in bytes.
const stateMax = 64 << 10

func (a *Audit) load() (s State) {
	data, _, err := spool.ReadFile(a.FS, StateFile, stateMax)
	if err != nil || json.Unmarshal(data, &s) != nil {
		return State{V: 1}
	}
	s.V = 1
	return s
}

func (a *Audit) save(s State) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = spool.Replace(a.FS, ".", StateFile, append(data, '\n'))
	}
	if err != nil {
		return storeError(StateFile, err)
	}
	return nil
}

// fingerprint changes whenever there may be something to commit: every event is
// in the journal, and people edit postroom.toml by hand.
func (a *Audit) fingerprint() string {
	var b strings.Builder
	names, _ := a.FS.ReadNames(journal.Dir)
	newest := ""
	for _, n := range names {
		if strings.HasSuffix(n, ".jsonl") && n > newest {
			newest = n
		}
	}
	for _, path := range []string{journal.Dir + "/" + newest, registry.File, config.OfficeFile} {
		fi, err := a.FS.Lstat(path)
		if err != nil {
			b.WriteString("-;")
			continue
		}
		b.WriteString(mark(path, fi))
	}
	return b.String()
}

func mark(path string, fi fs.FileInfo) string {
	data, _ := json.Marshal([]any{path, fi.Size(), fi.ModTime().UnixNano()})
	return string(data) + ";"
}

// Status is what `post audit status`, /healthz and doctor show.
type Status struct {
	State
	GitDir string `json:"git_dir"`
	// Head is the newest durable head of the journal, Behind how many records
	// of it are in no commit, Lag for how long that has been so, in seconds.
	Head   journal.Head `json:"head"`
	Behind uint64       `json:"behind"`
	Lag    int64        `json:"lag_s"`
}

// Status reads the state; it runs no git.
func (a *Audit) Status() (Status, error) {
	s := Status{State: a.load(), GitDir: a.gitDir()}
	s.Locks = a.findLocks() // as they are now
	head, err := journal.Durable(a.FS)
	if err != nil {
		return s, err
	}
	s.Head = head
	var done uint64
	if s.Last != nil {
		done = s.Last.Head.N
	}
	if head.N > done {
		s.Behind = head.N - done
		s.Lag = a.lag(done)
	}
	return s, nil
}

// lag is the age of the first record that no commit holds, in seconds; records
// are looked for since the last good comparison.
func (a *Audit) lag(done uint64) int64 {
	var first time.Time
	from := a.load().Since.Add(-time.Hour)
	journal.Each(a.FS, from, time.Time{}, func(r journal.Record) error {
		if r.N > done {
			first = r.At
			return fs.SkipAll
		}
		return nil
	})
	if first.IsZero() {
		return 0
	}
	return int64(max(0, a.Now().Sub(first).Seconds()))
}

// Remotes lists the repository's remotes: where a head can be kept.
func (a *Audit) Remotes(ctx context.Context) []string {
	g, err := a.git()
	if err != nil {
		return nil
	}
	if _, err := a.FS.Lstat(GitDir + "/postroom"); err != nil {
		return nil
	}
	out, err := g.run(ctx, a.stall(), "remote")
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}

func (a *Audit) inGit(elem ...string) string {
	return filepath.Join(append([]string{a.gitDir()}, elem...)...)
}

// tooOld is how long records may be in no commit before something is wrong.
const tooOld = 30 * time.Minute

// Wrong says in sentences what a person should look at; nothing if all is well.
func (s Status) Wrong() []string {
	var list []string
	if s.Error != nil {
		list = append(list, fmt.Sprintf("%d tries in a row failed, the last at %s: %s", s.Failures, s.Error.At.UTC().Format(time.RFC3339), s.Error.Text))
	}
	for _, l := range s.Locks {
		what := "stands in the way"
		if l.Stale {
			what = "is stale; the next commit removes it"
		}
		list = append(list, fmt.Sprintf("%s/%s %s (%v old: %s)", GitDir, l.Name, what, time.Duration(l.AgeS)*time.Second, l.Why))
	}
	if s.Behind > 0 && s.Lag > int64(tooOld.Seconds()) {
		list = append(list, `nothing was committed for long; run "post serve", or "post audit now"`)
	}
	if s.Growth != nil && s.Growth.Error != "" {
		list = append(list, "the repository could not be packed: "+s.Growth.Error)
	}
	return list
}
