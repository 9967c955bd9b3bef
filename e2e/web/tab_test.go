//go:build e2e

package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tab is one browser of a person: cookies of its own, one page.
type tab struct {
	*place
	ctx  context.Context
	base string // what the page's addresses begin with

	mu       sync.Mutex
	requests []string // the address of everything that was asked for
	faults   []string // errors of scripts, refusals of the content security policy
}

// watcher notes what a page's policy refuses, before any script of the page runs.
const watcher = `window.refused = [];
document.addEventListener('securitypolicyviolation', e => window.refused.push(e.violatedDirective + ' ' + e.blockedURI));`

// newTab opens a browser that was not let in.
func (p *place) newTab() *tab {
	p.t.Helper()
	ctx, stop := chromedp.NewContext(tools.browser, chromedp.WithNewBrowserContext())
	p.t.Cleanup(stop)
	b := &tab{place: p, ctx: ctx, base: "http://127.0.0.1:" + p.port}
	if err := chromedp.Listen(ctx, b.heard); err != nil {
		p.t.Fatal(err)
	}
	_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watcher})
	b.must("watch", err)
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	b.must("watch", err)
	b.size(1440, 900)
	return b
}

// enter opens a browser and lets it in.
func (p *place) enter() *tab {
	p.t.Helper()
	b := p.newTab()
	b.use(p.link())
	return b
}

// use opens a one-time link, by whose name the page is asked from then on.
func (b *tab) use(link string) {
	b.t.Helper()
	b.base, _, _ = strings.Cut(link, "/enter?")
	b.visit(link)
}

func (b *tab) must(what string, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// heard notes what a scenario may want to know afterwards.
func (b *tab) heard(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, "script: "+e.ExceptionDetails.Text+" "+describe(e.ExceptionDetails.Exception))
	case *cdplog.EventEntryAdded:
		if e.Entry.Source == cdplog.EntrySourceSecurity || e.Entry.Source == cdplog.EntrySourceViolation {
			b.faults = append(b.faults, "security: "+e.Entry.Text)
		}
	}
}

func describe(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	return o.Description
}

// clean wants that no page had an error of a script, or something that its own
// policy refuses, and that nothing was asked for elsewhere.
func (b *tab) clean() {
	b.t.Helper()
	if refused := eval[[]string](b, `window.refused || []`); len(refused) > 0 {
		b.t.Errorf("the content security policy refused %v", refused)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) > 0 {
		b.t.Errorf("in the browser: %v", b.faults)
	}
	for _, url := range b.requests {
		if !strings.HasPrefix(url, b.base+"/") {
			b.t.Errorf("asked elsewhere: %s", url)
		}
	}
}

// within is a context for one step.
func (b *tab) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, patience)
}

// visit goes to an address and waits until the page is loaded. A form that is
// still on its way aborts it: then it goes there again.
func (b *tab) visit(url string) {
	b.t.Helper()
	ctx, stop := b.within()
	defer stop()
	err := chromedp.Do(ctx, chromedp.Navigate(url))
	for err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "ERR_ABORTED") && !strings.Contains(url, "once=") {
		err = chromedp.Do(ctx, chromedp.Navigate(url))
	}
	b.must("visit "+url, err)
}

// open goes to a path of the page.
func (b *tab) open(path string) {
	b.t.Helper()
	b.visit(b.base + path)
}

// status asks for a path as the page's script would, and returns the status.
func (b *tab) status(path string) int {
	b.t.Helper()
	return eval[int](b, fmt.Sprintf(`fetch(%q, {redirect: 'manual'}).then(r => r.status)`, path))
}

// eval evaluates an expression in the page; promises are waited for.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := tryEval[T](b, expression)
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func tryEval[T any](b *tab, expression string) (T, error) {
	ctx, stop := b.within()
	defer stop()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until an expression is true, over navigations too.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	var last error
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		ok, err := tryEval[bool](b, "!!("+expression+")")
		if ok && err == nil {
			return
		}
		if last = err; time.Now().After(end) {
			b.t.Fatalf("%s (%s): not within %v; %v; the page says:\n%s", what, expression, patience, last, b.text())
		}
	}
}

// shows waits until a text is to be seen.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.until("shows "+text, fmt.Sprintf(`document.body && document.body.innerText.includes(%q)`, text))
}

// lacks waits until a text is not to be seen.
func (b *tab) lacks(text string) {
	b.t.Helper()
	b.until("lacks "+text, fmt.Sprintf(`document.readyState === 'complete' && !document.body.innerText.includes(%q)`, text))
}

func (b *tab) text() string {
	text, _ := tryEval[string](b, `document.body ? document.body.innerText : ''`)
	return text
}

// path is where the tab is.
func (b *tab) path() string {
	return eval[string](b, `location.pathname + location.search`)
}

// click clicks what a CSS selector finds first, with the mouse.
func (b *tab) click(selector string) {
	b.t.Helper()
	ctx, stop := b.within()
	defer stop()
	b.must("click "+selector, chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector))))
}

// fill writes into a field, as somebody who types.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	ctx, stop := b.within()
	defer stop()
	err := chromedp.Do(ctx, chromedp.SendKeys(chromedp.CSS(selector), text))
	for err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "Could not find node") { // drawn anew since it was found; nothing was typed
		err = chromedp.Do(ctx, chromedp.SendKeys(chromedp.CSS(selector), text))
	}
	b.must("fill "+selector, err)
}

// keys presses keys, one after the other.
func (b *tab) keys(keys string) {
	b.t.Helper()
	ctx, stop := b.within()
	defer stop()
	b.must("press "+keys, chromedp.Do(ctx, chromedp.KeyEvent(keys)))
}

// tabTo presses Tab until what has the focus satisfies an expression of "at".
func (b *tab) tabTo(what, expression string) {
	b.t.Helper()
	for range 200 {
		b.keys(kb.Tab)
		if eval[bool](b, "(at => !!("+expression+"))(document.activeElement)") {
			return
		}
	}
	b.t.Fatalf("Tab never comes to %s; the page says:\n%s", what, b.text())
}

// size sets the window's size, in CSS pixels.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1})
	b.must("size", err)
}

// scheme says what colours the system wants: light or dark.
func (b *tab) scheme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
	b.must("scheme", err)
}

// noScript takes the page's scripts away.
func (b *tab) noScript() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.must("no script", err)
}

// asked lists what was asked for since the tab was opened.
func (b *tab) asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}
