// Package remote holds the adapters that need a network. Only postd links it;
// post reaches them through notify.Postd (design §2).
//
// Invariants. A secret is never an argument, never in evidence and never in an
// error: of a URL only scheme and host are shown. Mail goes to no host but the
// one that was registered.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
)

// KindWebhook is the kind of agents that are woken by an HTTP request.
const KindWebhook = "webhook"

const (
	maxSecret = 8 << 10 // bytes of a header file
	maxHops   = 3       // redirects
)

// Webhook posts the pointer to the URL in Notify[1], or in the file that @FILE
// there names: the whole URL of a hook is often a secret. Unless a template says
// otherwise it is JSON:
//
//	{"v":1,"agent":…,"count":…,"ids":[…],"command":…,"office_id":…,"text":…}
//
// Further arguments are template:NAME (slack, discord, ntfy, generic, @FILE) and
// header:NAME=@FILE: the file's text, without white space around it, becomes that
// header. 2xx is Notified; 429 and 503 are Held;
// anything else is Failed.
type Webhook struct{ client *http.Client }

// NewWebhook makes the adapter; it may be used by many goroutines.
func NewWebhook() *Webhook {
	return &Webhook{&http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: sameHost,
	}}
}

// sameHost follows a redirect only if the same host gets the same request: a
// redirect that turns POST into GET would be answered by a page that never saw
// the pointer.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	if req.Method != first.Method || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme ||
		len(via) > maxHops {
		return http.ErrUseLastResponse
	}
	return nil
}

// Kind returns KindWebhook.
func (*Webhook) Kind() string { return KindWebhook }

// Check looks at the URL and the headers; header files must exist.
func (*Webhook) Check(args []string) ([]string, error) {
	if _, err := parse(args); err != nil {
		return nil, err
	}
	return args, nil
}

// Notify implements notify.Adapter.
func (w *Webhook) Notify(ctx context.Context, agent notify.Agent, p notify.Pointer) (notify.Outcome, error) {
	fail := func(what string) (notify.Outcome, error) { return notify.Fail(KindWebhook, agent, what, "") }
	if err := p.Check(); err != nil {
		return fail(err.Error())
	}
	t, err := parse(agent.Args())
	if err != nil {
		return fail(err.Error())
	}
	made, err := t.template(p)
	if err != nil {
		return fail(err.Error())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.String(), bytes.NewReader(made.body))
	if err != nil {
		return fail("cannot make a request for " + t.shown())
	}
	for name, value := range made.header {
		req.Header.Set(name, value)
	}
	for name := range t.header { // what is registered counts before what a template says
		req.Header.Set(name, t.header.Get(name))
	}
	req.Header.Set("Content-Type", made.contentType)
	req.Header.Set("User-Agent", "postd")
	start := time.Now()
	resp, err := w.client.Do(req)
	if err != nil {
		return fail(t.shown() + ": " + reason(ctx, err, start))
	}
	// What it says is not ours, and waiting for it could use up the time.
	resp.Body.Close()
	return t.verdict(agent, resp.StatusCode)
}

// target is what the arguments say.
type target struct {
	url      *url.URL
	header   http.Header
	template template
}

// shown is as much of the URL as people get to see: path and query often hold
// a secret.
func (t target) shown() string { return t.url.Scheme + "://" + t.url.Host }

func (t target) verdict(agent notify.Agent, code int) (notify.Outcome, error) {
	said := fmt.Sprintf("HTTP %d from %s", code, t.shown())
	switch {
	case code >= 200 && code < 300:
		return notify.Outcome{State: notify.Notified, Evidence: "webhook: " + said}, nil
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		return notify.Outcome{State: notify.Held, Evidence: "webhook: busy: " + said}, nil
	case code >= 300 && code < 400:
		return notify.Fail(KindWebhook, agent, "redirected: "+said, "register the final URL")
	}
	return notify.Fail(KindWebhook, agent, said, "")
}

// reason is err without the URL that net/http puts into it.
func reason(ctx context.Context, err error, start time.Time) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("took longer than %v", time.Since(start).Round(100*time.Millisecond))
	}
	if ctx.Err() != nil {
		return "cancelled"
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

func parse(args []string) (target, error) {
	if len(args) == 0 {
		return target{}, usage("no URL", "write webhook, then the URL")
	}
	text := args[0]
	if file, ok := strings.CutPrefix(text, "@"); ok {
		var err error
		if text, err = oneLine(file, "the URL"); err != nil {
			return target{}, err
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return target{}, usage("not an http or https URL", "write it with scheme and host")
	case u.User != nil:
		return target{}, usage("the URL holds credentials", "use header:Authorization=@FILE")
	}
	t := target{u, http.Header{}, generic}
	for _, arg := range args[1:] {
		if name, ok := strings.CutPrefix(arg, "template:"); ok {
			if t.template, err = templateOf(name); err != nil {
				return target{}, err
			}
			continue
		}
		name, value, err := secret(arg)
		if err != nil {
			return target{}, err
		}
		t.header.Set(name, value)
	}
	return t, nil
}

// secret reads one header:NAME=@FILE.
func secret(arg string) (name, value string, err error) {
	const hint = "write header:NAME=@/absolute/path or template:NAME"
	rest, ok := strings.CutPrefix(arg, "header:")
	name, file, found := strings.Cut(rest, "=@")
	if !ok || !found || !token(name) || !filepath.IsAbs(file) {
		return "", "", usage("an argument is not header:NAME=@FILE", hint)
	}
	value, err = oneLine(file, "header "+name)
	return name, value, err
}

// oneLine reads a file that holds one secret.
func oneLine(file, what string) (string, error) {
	fail := func() (string, error) {
		return "", usage("cannot use the file of "+what, "make it a readable file of one line, by its absolute path")
	}
	fi, err := os.Stat(file)
	if err != nil || !filepath.IsAbs(file) || !fi.Mode().IsRegular() || fi.Size() > maxSecret {
		return fail()
	}
	data, err := os.ReadFile(file)
	value := strings.TrimSpace(string(data))
	if err != nil || value == "" || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fail()
	}
	return value, nil
}

// token reports whether s can be a header's name.
func token(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

func usage(what, hint string) error {
	return &mail.Error{Op: "notify", Kind: mail.KindUsage, Addr: KindWebhook, Err: errors.New(what), Hint: hint}
}
