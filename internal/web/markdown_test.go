package web

import (
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what the hostile messages become")

// allowed are the elements that a text may become, with their attributes.
func allowed() map[string][]string {
	auto := []string{`dir="auto"`}
	return map[string][]string{
		"p": {`dir="auto"`, `class="lang"`}, "br": nil, "hr": nil, "h4": auto, "h5": auto, "h6": auto,
		"ul": nil, "ol": {`start="`}, "li": auto, "blockquote": nil, "em": nil, "strong": nil, "del": nil, "code": nil,
		"pre": {`class="as-written"`, `tabindex="0"`}, "div": {`class="wide"`, `tabindex="0"`},
		"table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": {`class="right"`, `class="center"`}, "td": {`class="right"`, `class="center"`},
		"a":   {`href="`, `rel="noopener noreferrer nofollow"`, `referrerpolicy="no-referrer"`, `target="_blank"`},
		"bdi": {`class="host"`, `class="host lies"`}, "span": {`class="dest"`},
	}
}

var (
	tagAt  = regexp.MustCompile(`^<(/?)([a-z0-9]+)((?: [a-z]+="[^"<>]*")*)>`)
	attrAt = regexp.MustCompile(` ([a-z]+="[^"]*")`)
	entity = regexp.MustCompile(`&(?:amp|lt|gt|#34|#39);|&`)
	hrefAt = regexp.MustCompile(`^href="(https?://[a-z0-9.:\[\]-]+(?:[/?#][!-~]*)?|mailto:[A-Za-z0-9.+_@-]+)"$`)
)

// inline are elements that hold no block.
var inline = []string{"p", "h4", "h5", "h6", "em", "strong", "del", "code", "a", "bdi", "span"}

// checkHTML reads HTML more strictly than any browser and says what is wrong.
func checkHTML(out string) error {
	var open []string
	for rest := out; rest != ""; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			i = len(rest)
		}
		if err := checkRun(rest[:i]); err != nil {
			return err
		}
		if rest = rest[i:]; rest == "" {
			break
		}
		m := tagAt.FindStringSubmatch(rest)
		if m == nil {
			return fmt.Errorf("no tag: %.40q", rest)
		}
		rest = rest[len(m[0]):]
		var err error
		if open, err = checkTag(open, m[1] == "/", m[2], m[3]); err != nil {
			return err
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("left open: %v", open)
	}
	return nil
}

func checkRun(text string) error {
	if strings.ContainsAny(text, `<>"'`) {
		return fmt.Errorf("not escaped: %.40q", text)
	}
	if slices.Contains(entity.FindAllString(text, -1), "&") {
		return fmt.Errorf("a bare &: %.40q", text)
	}
	for _, r := range html.UnescapeString(text) {
		if r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r == 0xfeff || r < ' ' && r != '\n' && r != '\t' {
			return fmt.Errorf("hidden character %U", r)
		}
	}
	return nil
}

func checkTag(open []string, end bool, name, attrs string) ([]string, error) {
	may, known := allowed()[name]
	if !known {
		return open, fmt.Errorf("element %s", name)
	}
	if end {
		if len(open) == 0 || open[len(open)-1] != name {
			return open, fmt.Errorf("</%s> closes %v", name, open)
		}
		return open[:len(open)-1], nil
	}
	found := attrAt.FindAllStringSubmatch(attrs, -1)
	for _, a := range found {
		if !slices.ContainsFunc(may, func(m string) bool { return a[1] == m || strings.HasSuffix(m, `="`) && strings.HasPrefix(a[1], m) }) {
			return open, fmt.Errorf("attribute %s of %s", a[1], name)
		}
		if strings.HasPrefix(a[1], "href") && !hrefAt.MatchString(html.UnescapeString(a[1])) {
			return open, fmt.Errorf("link %s", a[1])
		}
	}
	if name == "a" && (slices.Contains(open, "a") || len(found) != len(may)) {
		return open, fmt.Errorf("a link in a link, or without %v", may)
	}
	if len(open) > 0 && slices.Contains(inline, open[len(open)-1]) && name != "br" && !slices.Contains(inline[3:], name) {
		return open, fmt.Errorf("%s in %s", name, open[len(open)-1])
	}
	if len(open) > 5*nestMax+spansMax {
		return open, fmt.Errorf("%d deep", len(open))
	}
	if name == "br" || name == "hr" {
		return open, nil
	}
	return append(open, name), nil
}

var longWord = regexp.MustCompile(`[A-Za-z]{4,}`)

// missing lists words of a text that its HTML does not have, seen or in a link.
func missing(body, out string) (lost []string) {
	seen := strings.ToLower(html.UnescapeString(out))
	for _, w := range longWord.FindAllString(body, -1) {
		if !strings.Contains(seen, strings.ToLower(w)) {
			lost = append(lost, w)
		}
	}
	return lost
}

// TestHostile: each message of the corpus becomes what stands beside it.
func TestHostile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/hostile/*.md")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d messages, %v", len(files), err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := string(markdown(string(body)))
		if err := checkHTML(got); err != nil {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		if lost := missing(string(body), got); len(lost) > 0 {
			t.Errorf("%s: nobody can see %v", name, lost)
		}
		golden := strings.TrimSuffix(name, ".md") + ".html"
		if *update {
			if err := os.WriteFile(golden, []byte(got+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil || got+"\n" != string(want) {
			t.Errorf("%s (%v):\n got %s\nwant %s", name, err, got, want)
		}
	}
}

// TestHostileIsBounded: what costs some parsers the square of its length is
// rendered, soundly, and does not grow. What it cost is logged (-v).
func TestHostileIsBounded(t *testing.T) {
	t.Parallel()
	for name, body := range costly(markdownMax / 2) {
		begin := time.Now()
		out := string(markdown(body))
		if testing.Verbose() {
			t.Logf("%-10s %6d → %8d bytes, %v", name, len(body), len(out), time.Since(begin).Round(time.Millisecond))
		}
		if len(out) > (growMax+8)*len(body) {
			t.Errorf("%s: %d bytes became %d", name, len(body), len(out))
		}
		if err := checkHTML(out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func costly(n int) map[string]string {
	rep := func(s string) string { return strings.Repeat(s, n/len(s)) }
	var ticks, nest strings.Builder
	for i := 1; ticks.Len()+i < n; i++ {
		ticks.WriteString(strings.Repeat("`", i) + " ")
	}
	for i := 0; nest.Len()+2*i+4 < n; i++ {
		nest.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	row := strings.Repeat("|a", n/8) + "\n"
	half := func(a, b string) string { return strings.Repeat(a, n/2/len(a)) + strings.Repeat(b, n/2/len(b)) }
	return map[string]string{
		"open": rep("["), "image": rep("!["), "pairs": rep("[]"), "links": rep("[a](http://b.c)"), "brackets": half("[", "]"),
		"nested": half("[", "](b)"), "images": half("![", "](b)"), "no end": rep("[a]("), "no title": rep("[a](b (") + "x", "titles": rep("[a](b \""),
		"lines": rep("[a](b '\n"), "angle": rep("[a](<b"), "em": rep("*a "), "words": rep("*a_b"), "both": rep("a*b_"), "strong": rep("a**b "), "stars": rep("*"),
		"mixed": rep("*a [b ~~c _d"), "ticks": ticks.String(), "quote": rep(">"), "quotes": rep("> a\n"), "list": rep("- "), "numbers": rep("1. "),
		"both kinds": rep("> 1. "), "lists": nest.String(), "wide": row + strings.ReplaceAll(row, "a", "-") + row + rep("|a\n")[:n/4],
		"long": "|a|b|\n|-|-|\n" + rep("|a\n")[:n-16], "auto": rep("<a:"), "urls": rep("http://a.b "), "parens": "http://a.b/" + rep("("), "close": "http://a.b/" + rep(")"),
		"strike": rep("~~a "), "fences": rep("```\n"), "setext": rep("a\n=\n"), "hashes": rep("#"), "tabs": rep("\t-"), "tasks": rep("- [ ] a\n"),
		"entities": rep("&amp;"), "backslash": rep("\\"), "breaks": rep("\n"), "quotes in": rep("\""), "links in em": rep("*[a](b)"),
	}
}

// TestMarkdownIsCut: beyond what is parsed, a text is shown as it was written.
func TestMarkdownIsCut(t *testing.T) {
	t.Parallel()
	body := "# title\n" + strings.Repeat("*word* <b>\n", markdownMax/10)
	got := string(markdown(body))
	if !strings.HasPrefix(got, `<pre class="as-written" tabindex="0"># title`) || !strings.Contains(got, "*word* &lt;b&gt;") {
		t.Errorf("got %.200s", got)
	}
	if err := checkHTML(got); err != nil {
		t.Error(err)
	}
}

func TestSafeLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dest, href, host string }{
		{"https://example.com/a?b=c#d", "https://example.com/a?b=c#d", "example.com"},
		{"HTTPS://EXAMPLE.com", "https://example.com", "example.com"},
		{"http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x", "127.0.0.1:8080"},
		{"http://[::1]:80/", "http://[::1]:80/", "[::1]:80"},
		{"mailto:a.b+c@example.com", "mailto:a.b+c@example.com", "a.b+c@example.com"},
		{"javascript:alert(1)", "", ""}, {"JaVaScRiPt:alert(1)", "", ""}, {"data:text/html,x", "", ""}, {"vbscript:x", "", ""},
		{"file:///etc/passwd", "", ""}, {"ftp://example.com", "", ""}, {"//example.com/x", "", ""}, {"/inbox/ap-1", "", ""}, {"../x", "", ""}, {"#x", "", ""}, {"", "", ""},
		{"http:/example.com", "", ""}, {"http:example.com", "", ""}, {"http:///example.com", "", ""}, {`http:\\example.com`, "", ""}, {`https://good.com\@evil.com`, "", ""},
		{"https://good.com@evil.com", "", ""}, {"https://user:pw@evil.com", "", ""}, {"https://еxample.com", "", ""}, {"https://example.com/\u202e", "", ""},
		{"https://exa mple.com", "", ""}, {"https://example.com:x", "", ""}, {"https://-example.com", "", ""}, {"https://a..b", "", ""}, {"http://[fe80::1%25eth0]/", "", ""},
		{"mailto:a@b?subject=x", "", ""}, {"mailto:a@b?bcc=c@d", "", ""}, {"mailto:", "", ""}, {"blob:https://example.com/x", "", ""}, {"view-source:http://x.y", "", ""},
		{"https://example.com/" + strings.Repeat("a", linkMax), "", ""},
	} {
		l, ok := safeLink(c.dest)
		if ok != (c.href != "") || ok && (l.href != c.href || l.host != c.host) {
			t.Errorf("%.60q: %v %+v", c.dest, ok, l)
		}
	}
}

func TestLinksThatLie(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		lies bool
	}{
		{"the docs", false}, {"README.md", false}, {"main.go", false}, {"example.com", false}, {"https://example.com/x", false}, {"docs.example.com", true},
		{"https://github.com/x", true}, {"git<em>hub.com</em>", true}, {"www.bank.de", true}, {"http://10.0.0.1", true}, {"ask a@other.com", true},
	} {
		if l, _ := safeLink("https://example.com/x"); l.lies(c.text) != c.lies {
			t.Errorf("%q: lies = %v", c.text, !c.lies)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	files, _ := filepath.Glob("testdata/hostile/*.md")
	for _, name := range files {
		if body, err := os.ReadFile(name); err == nil {
			f.Add(string(body))
		}
	}
	for _, body := range costly(300) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		out := string(markdown(body))
		if err := checkHTML(out); err != nil {
			t.Fatalf("%v\n%q\n%s", err, body, out)
		}
		if lost := missing(body, out); len(lost) > 0 {
			t.Fatalf("nobody can see %q\n%q\n%s", lost, body, out)
		}
	})
}
