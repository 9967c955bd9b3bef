package remote_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
	"github.com/postroom/postroom/internal/notify/remote"
)

// hook is a target: it writes down what it takes and answers as it is told.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(http.ResponseWriter, *http.Request) bool // whether it took the request
	took   []string
	bodies []string
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		answer := h.answer
		h.mu.Unlock()
		if answer != nil && !answer(w, r) {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		var head strings.Builder
		_ = r.Header.Write(&head)
		h.took = append(h.took, r.Method+" "+r.URL.String()+"\n"+head.String()+string(body))
		h.bodies = append(h.bodies, string(body))
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) answers(f func(http.ResponseWriter, *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = f
}

func (h *hook) status(code int) {
	h.answers(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "\x1b[31mno\r\n\u202e")
		return code < 300
	})
}

func (h *hook) seen() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.took...)
}

func TestWebhookContract(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
		h := newHook(t)
		return notifytest.Fixture{
			Adapter: remote.NewWebhook(), Agent: notify.Agent{Notify: []string{"webhook", h.URL + "/wake?token=s3cret"}},
			Seen: h.seen, Refuse: func() { h.status(500) },
			Hang: func() {
				h.answers(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return false })
			},
		}
	})
}

func call(t *testing.T, args ...string) (notify.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	agent := notify.Agent{Name: "coder", Notify: append([]string{"webhook"}, args...)}
	return remote.NewWebhook().Notify(ctx, agent, notifytest.Pointer(t, "coder"))
}

func TestWebhookBody(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("Bearer s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := call(t, h.URL+"/wake", "header:Authorization=@"+secret)
	if err != nil || out.State != notify.Notified || !strings.Contains(out.Evidence, "HTTP 200 from http://127.0.0.1") {
		t.Fatalf("%+v, %v", out, err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(h.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"v", "agent", "count", "ids", "command", "office_id", "text"} {
		if _, ok := got[k]; !ok {
			t.Errorf("no %s in %s", k, h.bodies[0])
		}
		delete(got, k)
	}
	if len(got) > 0 {
		t.Errorf("more than the contract says: %v", got)
	}
	if !strings.Contains(h.seen()[0], "Authorization: Bearer s3cret\r\n") {
		t.Errorf("no header from the file: %q", h.seen()[0])
	}
}

func TestWebhookStatuses(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]notify.State{
		200: notify.Notified, 204: notify.Notified, 404: notify.Failed, 429: notify.Held, 503: notify.Held,
		500: notify.Failed, 401: notify.Failed,
	} {
		h := newHook(t)
		h.status(code)
		out, _ := call(t, h.URL+"/T0/s3cret")
		if out.State != want || !strings.Contains(out.Evidence, "HTTP ") || strings.Contains(out.Evidence, "s3cret") {
			t.Errorf("%d: %+v, want %s and no secret", code, out, want)
		}
	}
}

// A redirect is followed only where the same host gets the same POST.
func TestWebhookRedirects(t *testing.T) {
	t.Parallel()
	other := newHook(t)
	for _, test := range []struct {
		name string
		code int
		to   string // "" is /end on the same host
		want notify.State
	}{
		{"same host, same request", 307, "", notify.Notified},
		{"same host, becomes GET", 302, "", notify.Failed},
		{"other host", 307, other.URL + "/end", notify.Failed},
		{"loop", 308, "/start", notify.Failed},
	} {
		h := newHook(t)
		h.answers(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/end" {
				return true
			}
			to := test.to
			if to == "" {
				to = "/end"
			}
			http.Redirect(w, r, to, test.code)
			return false
		})
		out, _ := call(t, h.URL+"/start")
		if out.State != test.want {
			t.Errorf("%s: %+v, want %s", test.name, out, test.want)
		}
		if n := len(h.seen()); (n == 1) != (test.want == notify.Notified) {
			t.Errorf("%s: the target took %d", test.name, n)
		}
	}
	if n := len(other.seen()); n > 0 {
		t.Errorf("another host got %d pointers", n)
	}
}

func TestWebhookDownNamesNoSecret(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.Close()
	out, err := call(t, h.URL+"/T0/s3cret?token=s3cret")
	if out.State != notify.Failed || strings.Contains(out.Evidence+err.Error(), "s3cret") || !strings.Contains(out.Evidence, "refused") {
		t.Errorf("%+v, %v", out, err)
	}
}

// A response that never ends does not hold up the sender.
func TestWebhookEndlessResponse(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.answers(func(w http.ResponseWriter, r *http.Request) bool {
		block := make([]byte, 32<<10)
		for r.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				break
			}
		}
		return true
	})
	if out, err := call(t, h.URL); out.State != notify.Notified || err != nil {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestWebhookCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, empty, lines := file("good", "x\n"), file("empty", "\n"), file("lines", "a\nX-Other: b")
	const url = "https://example.invalid/x"
	for _, test := range []struct {
		args []string
		ok   bool
	}{
		{[]string{url}, true},
		{[]string{"http://127.0.0.1:9/x"}, true},
		{[]string{url, "header:X-Key=@" + good}, true},
		{nil, false},
		{[]string{"ftp://example.invalid"}, false},
		{[]string{"file:///etc/passwd"}, false},
		{[]string{"example.invalid"}, false},
		{[]string{"https://user:pass@example.invalid"}, false},
		{[]string{url, "header:X-Key=s3cret"}, false},
		{[]string{url, "header:X-Key=@relative"}, false},
		{[]string{url, "header:X Key=@" + good}, false},
		{[]string{url, "header:X-Key=@" + empty}, false},
		{[]string{url, "header:X-Key=@" + lines}, false},
		{[]string{url, "header:X-Key=@" + dir}, false},
		{[]string{url, "header:X-Key=@" + filepath.Join(dir, "none")}, false},
		{[]string{url, "more"}, false},
	} {
		_, err := remote.NewWebhook().Check(test.args)
		if (err == nil) != test.ok || err != nil && mail.KindOf(err) != mail.KindUsage {
			t.Errorf("%q: %v, want ok %t", test.args, err, test.ok)
		}
		if err != nil && strings.Contains(err.Error(), "pass") && test.args[0] != url {
			t.Errorf("%q: the error shows a secret: %v", test.args, err)
		}
	}
}
