//go:build e2e

package web

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// shotsDir is where the screenshots go; git ignores it, CI keeps it.
const shotsDir = "../../out/screens"

// tallest is how much of a long page is shown, in CSS pixels.
const tallest = 2400

// TestScreens takes every page at three widths, in both themes, in an office
// that is empty, busy or broken, and wants that nothing is wider than the window.
func TestScreens(t *testing.T) {
	t.Parallel()
	for state, prepare := range map[string]func(*testing.T) *place{
		"empty":  func(t *testing.T) *place { return newPlace(t, 0) },
		"busy":   func(t *testing.T) *place { return newPlace(t, busy) },
		"broken": broken,
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
			dir := filepath.Join(shotsDir, state)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			pages := p.pages()
			p.serve()
			b := p.enter()
			for _, pg := range pages {
				b.open(pg.path)
				b.shoot(dir, pg.name)
			}
			b.clean()
			stranger := p.newTab()
			stranger.open("/")
			stranger.shoot(dir, "stranger")
		})
	}
}

// shoot takes the page that is open at all widths and in both themes.
func (b *tab) shoot(dir, name string) {
	b.t.Helper()
	for _, width := range []int64{1440, 900, 390, 320} {
		b.size(width, 900)
		if wide := eval[int64](b, `document.documentElement.scrollWidth`); wide > width {
			b.t.Errorf("%s is %d pixels wide in a window of %d: %s", name, wide, width, eval[string](b, widest))
		}
		if width == 320 {
			continue // only that it fits
		}
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			file := filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
			if err := os.WriteFile(file, b.capture(float64(width)), 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// widest names what sticks out of the window.
const widest = `(() => { const w = innerWidth; const e = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > w + 0.5).pop();
  return e ? e.localName + '.' + e.className + ' ' + (e.textContent || '').trim().slice(0, 60) : ''; })()`

func (b *tab) capture(width float64) []byte {
	b.t.Helper()
	height := min(tallest, max(900, eval[float64](b, `document.documentElement.scrollHeight`)))
	ctx, stop := b.within()
	defer stop()
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true),
		Clip: &page.Viewport{Width: width, Height: height, Scale: 1}})
	b.must("screenshot", err)
	return shot.Data
}

// broken is an office in which much is wrong.
func broken(t *testing.T) *place {
	p := newPlace(t, 160)
	ruin := func(pattern, text string, nth int) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(p.dir, filepath.FromSlash(pattern)))
		if err == nil && len(files) > nth {
			err = os.WriteFile(files[nth], []byte(text), 0o600)
		}
		if err != nil || len(files) <= nth {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
	}
	ruin("approvals/ap-*.json", "{", 0)
	ruin("messages/*/*.json", `{"schema": 1, "id": "x"`, 3)
	ruin("agents/lead/inbox/.done/*.json", `{}`, 5)
	ruin("agents/backend/presence.json", "nonsense", 0)
	ruin("agents/planner/index.jsonl", "nonsense\n", 0)
	for _, dir := range []string{"agents/reviewer", "agents/ops/inbox"} {
		if err := os.RemoveAll(filepath.Join(p.dir, filepath.FromSlash(dir))); err != nil {
			t.Fatal(err)
		}
	}
	return p
}
