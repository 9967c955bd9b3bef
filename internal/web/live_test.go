package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/presence"
)

// enough is how long anything may take on a machine that is busy.
const enough = 30 * time.Second

func newLive(t *testing.T, d *officetest.RealDesk, change func(*pace)) *Live {
	t.Helper()
	l := NewLive(d.Office(), slog.New(slog.DiscardHandler))
	l.pace.tick = 5 * time.Millisecond
	if change != nil {
		change(&l.pace)
	}
	t.Cleanup(l.Close)
	return l
}

// served is the address at which a handler listens until the test ends.
func served(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// ear reads a stream as a browser does.
type ear struct {
	t    *testing.T
	in   *bufio.Scanner
	stop func()
	last string // id of the last event
}

func browse(t *testing.T, url, last string) *ear {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("it answers %s, %s", resp.Status, got)
	}
	stop := func() { cancel(); resp.Body.Close() }
	t.Cleanup(stop)
	return &ear{t: t, in: bufio.NewScanner(resp.Body), stop: stop, last: last}
}

// next returns the next event; false when the stream has ended.
func (b *ear) next() (name string, m Move, ok bool) {
	b.t.Helper()
	for b.in.Scan() {
		field, value, _ := strings.Cut(b.in.Text(), ": ")
		switch field {
		case "id":
			b.last = value
		case "event":
			name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &m); err != nil {
				b.t.Fatal(err)
			}
		case "":
			if name != "" {
				return name, m, true
			}
		}
	}
	return "", m, false
}

// until reads on to the first event that fits.
func (b *ear) until(what string, fits func(name string, m Move) bool) Move {
	b.t.Helper()
	for {
		name, m, ok := b.next()
		if !ok {
			b.t.Fatal("the stream ended before ", what)
		}
		if fits(name, m) {
			return m
		}
	}
}

func delivered(id mail.ID) func(string, Move) bool {
	return func(name string, m Move) bool { return name == onJournal && m.Event == "delivered" && m.ID == id }
}

func TestLiveTells(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "bob")
	old := d.Mail("ann", "bob", mail.Inform, "before", "…")
	url := served(t, newLive(t, d, nil))
	b := browse(t, url, "")
	if name, _, _ := b.next(); name != onBeat || b.last == "" {
		t.Fatalf("it begins with %s, id %q", name, b.last)
	}
	id := d.Mail("ann", "bob", mail.Request, "Look", "at this")
	var m Move
	debts := false
	b.until("the delivery and the debt", func(name string, now Move) bool {
		if now.ID == old {
			t.Errorf("it tells of what was there before: %+v", now)
		}
		if debts = debts || name == onDebts; delivered(id)(name, now) {
			m = now
		}
		return debts && m.ID != ""
	})
	if m.From != "ann" || m.To != "bob" || m.Act != "request" || m.Seq != 2 || b.last == "" {
		t.Errorf("%+v, id %s", m, b.last)
	}

	d.Mail("ann", "human", mail.Query, "May I", "?")
	b.until("the approval", func(name string, m Move) bool {
		return name == onApprovals && m.Event == "escalated" && m.Approval != ""
	})

	box := d.Box("bob").Author.Box
	if err := presence.WriteIn(box.FS, box.Dir, presence.Session{Runtime: "claude", ID: "s", State: presence.Idle, At: d.Clock.Now()}); err != nil {
		t.Fatal(err)
	}
	b.until("the presence", func(name string, m Move) bool { return name == onPresence && m.From == "bob" })
}

// A browser that comes back is told what it missed, once; or, if that is not
// known any more, to fetch everything.
func TestLiveResumes(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "bob")
	d.Mail("ann", "bob", mail.Inform, "first", "…")
	l := newLive(t, d, func(p *pace) { p.ring = 4 })
	url := served(t, l)
	b := browse(t, url, "")
	b.next()
	last := b.last
	b.stop()

	id := d.Mail("ann", "bob", mail.Inform, "missed", "…")
	b = browse(t, url, last)
	m := b.until("what was missed", delivered(id))
	again := d.Mail("bob", "ann", mail.Inform, "then", "…")
	b.until("what came then", func(name string, now Move) bool {
		if name == onJournal && now.N <= m.N && now.Event == "delivered" {
			t.Errorf("it tells of record %d again", now.N)
		}
		return delivered(again)(name, now)
	})
	for range 5 {
		again = d.Mail("ann", "bob", mail.Inform, "more than is kept", "…")
	}
	b.until("the last one", delivered(again))
	b.stop()
	for _, from := range []string{last, "1", "999999"} {
		b = browse(t, url+"?after="+from, "")
		if name, _, _ := b.next(); name != onReset {
			t.Errorf("after %s it begins with %s", from, name)
		}
		b.stop()
	}
	last = b.last
	b = browse(t, url, last)
	if name, _, _ := b.next(); name != onBeat {
		t.Errorf("with nothing missed it begins with %s", name)
	}
	_, beside, ok := l.Last()
	if !ok {
		t.Fatal("it does not run")
	}
	page := url + "?after=" + last + "&beside=" + fmt.Sprint(beside)
	if name, _, _ := browse(t, page, "").next(); name != onBeat {
		t.Errorf("a page with nothing missed begins with %s", name)
	}
	l.Tell(onHealth, Move{Event: "examined"})
	if name, _, _ := browse(t, page, "").next(); name != onReset {
		t.Errorf("a page that missed what is not in the journal begins with %s", name)
	}
	if name, _, _ := browse(t, page, last).next(); name != onBeat {
		t.Errorf("of a browser that comes back only the number counts, and it begins with %s", name)
	}
}

// slow takes nothing that is written to it.
type slow struct {
	head    http.Header
	writes  chan struct{} // one for each write
	release chan struct{}
}

func (s *slow) Header() http.Header { return s.head }
func (s *slow) WriteHeader(int)     {}
func (s *slow) Flush()              {}
func (s *slow) Write(p []byte) (int, error) {
	s.writes <- struct{}{}
	<-s.release
	return len(p), nil
}

// A browser that does not keep up is cut off, keeps nobody else waiting, and
// costs no more than its queue.
func TestLiveCutsTheSlowOff(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "bob")
	l := newLive(t, d, func(p *pace) { p.queue = 4 })
	w := &slow{head: http.Header{}, writes: make(chan struct{}, 100), release: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		l.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/live", nil))
		close(ended)
	}()
	<-w.writes // it hangs in its first write
	url := served(t, l)
	b := browse(t, url, "")
	b.next()
	for i := range 10 {
		l.Tell(onHealth, Move{Count: i})
		b.until("what the quick one is told", func(name string, m Move) bool { return name == onHealth && m.Count == i })
	}
	l.mu.Lock()
	if n := len(l.listeners); n != 1 {
		t.Errorf("%d browsers are left", n)
	}
	l.mu.Unlock()
	close(w.release)
	select {
	case <-ended:
	case <-time.After(enough):
		t.Fatal("its stream goes on")
	}
}

// A burst is told as a number and its end.
func TestLiveSumsUp(t *testing.T) {
	t.Parallel()
	d := officetest.NewRealDesk(t, "ann", "bob")
	l := newLive(t, d, func(p *pace) { p.burst, p.tick = 3, time.Hour })
	url := served(t, l)
	b := browse(t, url, "")
	b.next()
	for range 20 {
		d.Send("ann", "bob", mail.Request, "many", "…")
	}
	d.Pass()
	m := b.until("a sum", func(name string, m Move) bool { return name == onJournal && m.Event == "many" })
	if m.Count < 1 {
		t.Errorf("it sums up %d", m.Count)
	}
	for _, want := range []string{onApprovals, onDebts} {
		if name, m, _ := b.next(); name != want || m.Event != "many" {
			t.Errorf("then comes %s %+v, want %s", name, m, want)
		}
	}
}

// Nothing runs while nobody looks, nor after Close; and so many may look at once.
func TestLiveRunsForSomebody(t *testing.T) {
	d := officetest.NewRealDesk(t, "ann", "bob")
	d.Mail("ann", "bob", mail.Inform, "here", "…")
	before := runtime.NumGoroutine()
	l := newLive(t, d, func(p *pace) { p.linger, p.listeners = 0, 3 })
	srv := httptest.NewServer(l)
	url := srv.URL
	var all []*ear
	for range 3 {
		b := browse(t, url, "")
		b.next()
		all = append(all, b)
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || !bytes.Contains(text, []byte("close some")) {
		t.Errorf("a fourth gets %s: %s", resp.Status, text)
	}
	l.mu.Lock()
	done := l.done
	l.mu.Unlock()
	for _, b := range all {
		b.stop()
	}
	select {
	case <-done:
	case <-time.After(enough):
		t.Fatal("it runs on for nobody")
	}
	if list := l.Lately(context.Background()); len(list) != 1 || list[0].From != "ann" || list[0].To != "bob" {
		t.Errorf("it starts again with %+v", list)
	}
	b := browse(t, url, "")
	b.next()
	l.Close()
	if _, _, ok := b.next(); ok {
		t.Error("a browser hears more after the end")
	}
	srv.Close()
	http.DefaultClient.CloseIdleConnections()
	for end := time.Now().Add(enough); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestLatelyIsBounded(t *testing.T) {
	t.Parallel()
	var l lately
	for i := range keptLately + 10 {
		l.add(Delivery{ID: mail.ID(fmt.Sprint(i))})
	}
	list := l.list()
	if len(list) != keptLately || list[0].ID != "10" || list[keptLately-1].ID != mail.ID(fmt.Sprint(keptLately+9)) {
		t.Errorf("%d, from %s to %s", len(list), list[0].ID, list[len(list)-1].ID)
	}
}

// What the journal has for the router's sake wakes no browser.
func TestNamesOf(t *testing.T) {
	t.Parallel()
	for ev, want := range map[string]string{
		"delivered": "journal", "read": "journal", "joined": "journal", "escalated": "journal approvals", "decided": "journal approvals",
		"reminded": "journal debts", "overdue": "journal debts", "transcript": "", "settled": "", "parked": "",
	} {
		if got := strings.Join(namesOf(ev), " "); got != want {
			t.Errorf("%s: %q, want %q", ev, got, want)
		}
	}
}

// TestLiveLatency measures from a delivery to its event, when asked to.
func TestLiveLatency(t *testing.T) {
	if os.Getenv("POSTROOM_MEASURE") == "" {
		t.Skip("POSTROOM_MEASURE=1 measures")
	}
	d := officetest.NewRealDesk(t, "ann", "bob")
	l := NewLive(d.Office(), slog.New(slog.DiscardHandler))
	defer l.Close()
	url := served(t, l)
	b := browse(t, url, "")
	b.next()
	for range 20 {
		begin := time.Now()
		id := d.Mail("ann", "bob", mail.Inform, "now", "…")
		sent := time.Since(begin)
		b.until("it", delivered(id))
		t.Logf("sent %v, seen %v", sent, time.Since(begin))
	}
}

// The page's own way to the events, through its guard, and the number that a page
// begins to listen with.
func TestLiveOfThePage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	t.Cleanup(p.site.Close)
	if strings.Contains(p.ok("/inbox"), "data-after") {
		t.Error("a page names a record though nobody follows the journal")
	}
	ctx, leave := context.WithCancel(context.Background())
	r := httptest.NewRequest(http.MethodGet, "http://"+host+"/live", nil).WithContext(ctx)
	r.Host = host
	r.AddCookie(&http.Cookie{Name: p.site.cookieName(), Value: p.session})
	in, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		p.handler.ServeHTTP(pipeWriter{out, http.Header{}}, r)
		close(ended)
	}()
	b := &ear{t: t, in: bufio.NewScanner(in)}
	if name, _, ok := b.next(); name != onBeat || !ok {
		t.Fatalf("it begins with %q", name)
	}
	id := p.Mail("ann", "bob", mail.Inform, "Look", "at this")
	b.until("the delivery", delivered(id))
	if !strings.Contains(p.ok("/inbox"), `data-after="`) {
		t.Error("a page does not say which record it knows of")
	}
	if _, err := Revoke(p.site.sessions.dir); err != nil {
		t.Fatal(err)
	}
	p.Mail("ann", "bob", mail.Inform, "Secret", "…")
	go func() { // whatever was queued before
		for _, _, ok := b.next(); ok; _, _, ok = b.next() {
		}
	}()
	select {
	case <-ended:
	case <-time.After(enough):
		t.Error("a browser that was shut out listens on")
	}
	leave()
	w := httptest.NewRecorder()
	stranger := httptest.NewRequest(http.MethodGet, "http://"+host+"/live", nil)
	stranger.Host = host
	if p.handler.ServeHTTP(w, stranger); w.Code != http.StatusUnauthorized {
		t.Errorf("a stranger gets %d", w.Code)
	}
}

// pipeWriter is a response that is read while it is written.
type pipeWriter struct {
	*io.PipeWriter
	head http.Header
}

func (w pipeWriter) Header() http.Header { return w.head }
func (w pipeWriter) WriteHeader(int)     {}
func (w pipeWriter) Flush()              {}
