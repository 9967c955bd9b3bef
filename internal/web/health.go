package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/doctor"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

// healthView is the page Health.
type healthView struct {
	Looked   bool // the doctor has looked
	Looking  bool
	At       time.Time
	Took     string
	Cut      bool
	Groups   []healthGroup
	Mendable int // findings that one command mends
	Fix      string
	Disk     []diskRow
	Size     string // of everything
	Files    int
	Free     string // on its disk, "" if unknown
}

// healthGroup is the findings of one severity.
type healthGroup struct {
	Severity doctor.Severity
	Title    string
	Tone     string
	List     []healthFinding
}

// healthFinding is one finding. Command is one to type as it stands, Advice is
// words.
type healthFinding struct {
	What, Where, Why, Command, Advice string
	ID                                mail.ID
	Mends                             bool
}

// diskRow is one part of the disk use.
type diskRow struct {
	diskPart
	Size  string
	Share int // hundredths of the whole
}

// health shows the page Health. The doctor never keeps it waiting: it shows what
// was found last and has it looked for anew if that is old.
func (s *Site) health(w http.ResponseWriter, r *http.Request) {
	o, err := s.open()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	last, _ := s.behind.checkup.get()
	if last == nil || s.Env.Now().Sub(last.At) > freshFor {
		s.examine(o)
	}
	last, looking := s.behind.checkup.get()
	v := healthOf(last, s.flag())
	v.Looking = looking
	s.render(w, r, "health", view{Title: "Health", Nav: "health", Data: v})
}

// lookAgain has the doctor look now.
func (s *Site) lookAgain(w http.ResponseWriter, r *http.Request) {
	o, err := s.open()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.examine(o)
	s.goOn(w, r, "/health")
}

// examine has the doctor look in the background and tells the browsers when he
// has.
func (s *Site) examine(o *office.Office) {
	b := &s.behind
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed {
		return
	}
	b.checkup.begin(func(ctx context.Context) finding {
		began := time.Now()
		d := s.Env.Doctor(o.Dir)
		f := finding{Findings: d.Examine(ctx), Disk: diskOf(ctx, o)}
		if free, ok := d.Host.Space(o.Dir); ok {
			f.Free = sizeWords(int64(min(free, 1<<62)))
		}
		f.At, f.Took = s.Env.Now(), time.Since(began)
		return f
	}, func() { s.hub(o).Tell(onHealth, Move{Event: "examined"}) })
}

// flag is what a command needs so that it is about this office wherever it is
// typed: nothing if it is the user's own default.
func (s *Site) flag() string {
	if s.Env.User().DefaultOffice() == s.Dir {
		return ""
	}
	return " --office " + shellLine([]string{s.Dir})
}

// healthOf is what a look found as the page shows it, the worst first.
func healthOf(f *finding, flag string) healthView {
	if f == nil {
		return healthView{}
	}
	v := healthView{Looked: true, At: f.At, Took: f.Took.Round(10 * time.Millisecond).String(), Cut: f.Cut, Fix: doctor.FixCommand + flag,
		Size: sizeWords(f.Disk.Bytes), Files: f.Disk.Files, Free: f.Free}
	for _, g := range []healthGroup{{doctor.Error, "Errors", "bad", nil}, {doctor.Warning, "Warnings", "warn", nil}, {doctor.Note, "Notes", "dim", nil}} {
		for _, x := range f.Findings {
			if x.Severity != g.Severity || x.Check == "disk" && x.Severity == doctor.Note { // the page tells that better
				continue
			}
			if x.Mends {
				v.Mendable++
			}
			g.List = append(g.List, findingOf(x, flag))
		}
		if len(g.List) > 0 {
			v.Groups = append(v.Groups, g)
		}
	}
	for _, p := range f.Disk.Parts {
		v.Disk = append(v.Disk, diskRow{p, sizeWords(p.Bytes), f.Disk.share(p)})
	}
	return v
}

func findingOf(x doctor.Finding, flag string) healthFinding {
	h := healthFinding{What: x.What, Why: x.Why, ID: x.ID, Mends: x.Mends}
	if !strings.Contains(x.What, x.Where) {
		h.Where = x.Where
	}
	if h.Command = commandIn(x.Fix, flag); h.Command == "" {
		h.Advice = x.Fix
	}
	return h
}

// commandIn is the advice as a command of ours, "" if it is other words. Only a
// lone command gets the flag: of two, nobody could tell where.
func commandIn(fix, flag string) string {
	if !strings.HasPrefix(fix, "post ") || strings.ContainsAny(fix, ",;\"") {
		return ""
	}
	words := strings.Fields(fix)
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains([]string{"or", "and", "in", "to", "if", "then"}, w) }) {
		return ""
	}
	return fix + flag
}

// sizeWords shows a size in its largest unit.
func sizeWords(n int64) string {
	switch {
	case n < 1<<20:
		return strconv.FormatInt((n+1<<10-1)>>10, 10) + " KiB"
	case n < 10<<20:
		return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB"
	case n < 1<<30:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	}
	return strconv.FormatFloat(float64(n)/(1<<30), 'f', 1, 64) + " GiB"
}
