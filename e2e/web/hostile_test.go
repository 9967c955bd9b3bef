//go:build e2e

package web

import (
	"fmt"
	"strings"
	"testing"
)

// hostile is text that wants to be more than text. %s is where a request would
// go that must never be made.
func hostile() []string {
	return []string{
		"<script>window.owned = 1; fetch('%s/script')</script>",
		"<img src=x onerror=\"window.owned = 1\"><img src=\"%s/img\">",
		"![a picture](%s/markdown-image)",
		"![a picture][ref]\n\n[ref]: %s/reference-image",
		"[click me](javascript:window.owned=1)",
		"[click me](JaVaScRiPt&colon;window.owned=1) [and me](java\tscript:window.owned=1) [or](\x01javascript:window.owned=1)",
		"[data](data:text/html,<script>window.owned=1</script>) [vb](vbscript:x) [blob](blob:%s/x) [file](file:///etc/passwd)",
		"<a href=\"javascript:window.owned=1\">x</a> <svg onload=\"window.owned=1\"><use href=\"%s/use#x\"/></svg>",
		"<iframe src=\"%s/frame\"></iframe><object data=\"%s/object\"></object><embed src=\"%s/embed\">",
		"<style>@import '%s/import'; body{background:url(%s/bg)}</style><link rel=stylesheet href=\"%s/css\">",
		"<meta http-equiv=refresh content=\"0;url=%s/refresh\"><base href=\"%s/\">",
		"<form action=\"%s/form\"><input name=x><button id=go>Decide</button></form>",
		"</textarea></pre></code></div></main></body><script>window.owned=1</script>",
		"{{.CSRF}} {{template \"csrf\" .}} ${window.owned=1} <%%= 1 %%>",
		"[https://bank.example](%s/lies) and <https://bank.example@evil.example/>",
		"[\u202emoc.live](https://evil.example/) \u2066hidden\u2069 zero\u200bwidth",
		"```html\n<script>window.owned=1</script>\n```\n````\n`<img src=x onerror=window.owned=1>`",
		"| a | b |\n|---|---|\n| <script>window.owned=1</script> | ![x](%s/table) |",
		"# <script>window.owned=1</script>\n\n> <img src=x onerror=window.owned=1>\n\n- <svg/onload=window.owned=1>",
		"[x](https://example.com/\"onmouseover=\"window.owned=1) [y](https://example.com/'><script>window.owned=1</script>)",
		strings.Repeat("[", 3000) + strings.Repeat("(", 3000),
		strings.Repeat("> ", 400) + "deep",
		strings.Repeat("*_`", 2000),
		strings.Repeat("x", 40_000),
		"&lt;script&gt;window.owned=1&lt;/script&gt; &#60;script&#62;window.owned=1&#60;/script&#62;",
		"<<script>script>window.owned=1</script> <scr\x00ipt>window.owned=1</script>",
		"\u001b[31mred\u001b[0m \u0007 \u0000 \ufeff",
		"event: journal\ndata: {\"owned\": 1}\n\nid: 7",
	}
}

// TestHostile: whatever stands in a message, no page runs it, asks for anything
// elsewhere because of it, or has anything that its own policy refuses.
func TestHostile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 0)
	p.serve()
	const evil = "http://evil.example"
	var ids []string
	for i, text := range hostile() {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "%s", evil), "%%", "%")
		subject := fmt.Sprintf("<script>window.owned=%d</script> <img src=%s/subject onerror=window.owned=1> {{.}}", i, evil)
		to := []string{"lead", "human", "builders"}[i%3]
		ids = append(ids, p.send("backend", to, []string{"request", "inform"}[i%2], subject, text))
	}
	b := p.enter()
	pages := []string{"/", "/inbox", "/threads", "/agents", "/agents/backend", "/health", "/debts", "/compose", "/search?q=owned",
		"/search?q=%3Cscript%3Ewindow.owned%3D1%3C%2Fscript%3E", "/nope%3Cscript%3Ewindow.owned=1%3C/script%3E"}
	for _, id := range ids {
		pages = append(pages, "/message/"+id)
	}
	for _, path := range p.approvals() {
		pages = append(pages, "/inbox/"+path)
	}
	b.open("/threads")
	pages = append(pages, eval[[]string](b, `[...new Set([...document.querySelectorAll('main a[href^="/threads/"]')].map(a => a.getAttribute('href')))]`)...)
	for _, path := range pages {
		b.open(path)
		if found := eval[[]string](b, intruders); len(found) > 0 {
			t.Errorf("%s holds %v", path, found)
		}
	}
	b.clean()
}

// intruders finds what no page of ours has.
const intruders = `(() => {
  const found = [];
  if (window.owned) found.push('a script ran: ' + window.owned);
  for (const e of document.querySelectorAll('*')) {
    const name = e.localName;
    if (name === 'script' && (!/^\/static\/[a-z]+\.js$/.test(e.getAttribute('src')) || e.textContent.trim())) found.push('script');
    if (['iframe', 'object', 'embed', 'style', 'base', 'frame', 'applet', 'img', 'picture', 'video', 'audio', 'math'].includes(name)) found.push(name);
    if (name === 'meta' && e.httpEquiv) found.push('meta ' + e.httpEquiv);
    if (name === 'form' && new URL(e.action).origin !== location.origin) found.push('form to ' + e.action);
    for (const a of e.attributes) {
      if (/^on/i.test(a.name)) found.push(name + ' ' + a.name);
      if (a.name === 'style') found.push(name + ' style');
      if (['href', 'src', 'action', 'formaction', 'data', 'xlink:href', 'srcset', 'ping'].includes(a.name) && !(name === 'a' && a.name === 'href') &&
        !a.value.startsWith('/') && !a.value.startsWith('#') && a.name !== 'action') found.push(name + ' ' + a.name + '=' + a.value);
    }
    if (name === 'a' && e.hasAttribute('href') && !/^(https?|mailto):$/.test(e.protocol)) found.push('link to ' + e.href);
    if (name === 'a' && e.hasAttribute('href') && e.origin !== location.origin && !/noreferrer/.test(e.rel)) found.push('a link that tells where it came from: ' + e.href);
  }
  return [...new Set(found)];
})()`
