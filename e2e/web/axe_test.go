//go:build e2e

package web

import (
	"strings"
	"testing"
)

// found is one kind of fault that axe-core finds.
type found struct {
	ID, Impact, Help string
	Nodes            []string
}

// verdict is what axe-core says of a page.
type verdict struct {
	Passes int // rules that the page keeps
	Found  []found
}

// judge runs axe-core on the page that is open.
const judge = `axe.run(document, {resultTypes: ['violations']}).then(r => ({Passes: r.passes.length, Found: r.violations.map(v => ({ID: v.id,
  Impact: v.impact || '', Help: v.help,
  Nodes: v.nodes.slice(0, 4).map(n => n.target.join(' ') + ': ' + n.html.slice(0, 160) + ' ' + (n.any[0] ? n.any[0].message : ''))}))}))`

// TestAccessible: axe-core finds nothing serious or critical on any page, in
// either theme, on a phone or a screen.
func TestAccessible(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, busy)
			p.serve()
			b := p.enter()
			b.scheme(scheme)
			for _, width := range []int64{390, 1440} {
				b.size(width, 900)
				for _, pg := range p.pages() {
					b.open(pg.path)
					b.accessible(pg.name)
				}
				b.open("/")
				b.keys("?")
				b.until("the keys are shown", `document.querySelector('dialog[open]')`)
				b.accessible("keys")
			}
			stranger := p.newTab()
			stranger.scheme(scheme)
			stranger.open("/")
			stranger.accessible("stranger")
		})
	}
}

// accessible runs axe-core on the page that is open.
func (b *tab) accessible(name string) {
	b.t.Helper()
	eval[bool](b, "(() => {"+tools.axe+"; return true})()")
	v := eval[verdict](b, judge)
	if v.Passes < 10 {
		b.t.Errorf("%s: axe-core looked at %d rules only", name, v.Passes)
	}
	for _, f := range v.Found {
		text := name + ": " + f.Impact + ": " + f.ID + ": " + f.Help + "\n\t" + strings.Join(f.Nodes, "\n\t")
		if f.Impact == "serious" || f.Impact == "critical" {
			b.t.Error(text)
		} else {
			b.t.Log(text)
		}
	}
}
