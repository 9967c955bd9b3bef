package web

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// htmlWriter writes a parsed text. Elements, attributes and classes are these
// here and no others; everything of the text goes through escape.
type htmlWriter struct {
	b      strings.Builder
	src    []byte
	limit  int
	depth  int
	inLink bool
}

// spansMax is how deep emphasis and the like may stand in each other.
const spansMax = 40

func (w *htmlWriter) full() bool { return w.b.Len() > w.limit }

func (w *htmlWriter) raw(parts ...string) {
	for _, p := range parts {
		w.b.WriteString(p)
	}
}

func (w *htmlWriter) children(n ast.Node) {
	for c := n.FirstChild(); c != nil && !w.full(); c = c.NextSibling() {
		w.node(c)
	}
}

func (w *htmlWriter) in(tag string, n ast.Node) {
	w.depth++
	if w.depth > spansMax {
		w.children(n)
	} else {
		w.raw("<", tag, ">")
		w.children(n)
		name, _, _ := strings.Cut(tag, " ")
		w.raw("</", name, ">")
	}
	w.depth--
}

func (w *htmlWriter) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Paragraph:
		w.in(`p dir="auto"`, n)
	case *ast.TextBlock:
		w.children(n)
		if n.NextSibling() != nil {
			w.raw(" ")
		}
	case *ast.Heading: // below the page's own
		w.in("h"+strconv.Itoa(min(n.Level+3, 6))+` dir="auto"`, n)
	case *ast.ThematicBreak:
		w.raw("<hr>")
	case *ast.Blockquote:
		w.in("blockquote", n)
	case *ast.List:
		w.list(n)
	case *ast.ListItem:
		w.in(`li dir="auto"`, n)
	case *ast.FencedCodeBlock:
		w.code(n.Lines().Value(w.src), n.Info)
	case *ast.CodeBlock:
		w.code(n.Lines().Value(w.src), nil)
	default:
		w.inline(n)
	}
}

func (w *htmlWriter) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(n)
	case *ast.String:
		w.raw(escape(string(n.Value)))
	case *ast.Emphasis:
		w.in([]string{"em", "strong"}[min(n.Level, 2)-1], n)
	case *east.Strikethrough:
		w.in("del", n)
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Link:
		w.link("", n, string(n.Destination), string(n.Title))
	case *ast.Image:
		w.link("image: ", n, string(n.Destination), string(n.Title))
	case *ast.AutoLink:
		w.autoLink(n)
	case *east.TaskCheckBox:
		w.raw(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked])
	default:
		w.table(n)
	}
}

func (w *htmlWriter) list(n *ast.List) {
	switch {
	case !n.IsOrdered():
		w.in("ul", n)
	case n.Start == 1:
		w.in("ol", n)
	default:
		w.in(`ol start="`+strconv.Itoa(n.Start)+`"`, n)
	}
}

// code is a block that scrolls by itself, and shows what its fence says.
func (w *htmlWriter) code(text []byte, info *ast.Text) {
	if info != nil {
		w.raw(`<p class="lang">`, escape(string(info.Segment.Value(w.src))), `</p>`)
	}
	w.raw(`<pre tabindex="0"><code>`, escape(string(text)), `</code></pre>`)
}

// text unescapes punctuation. A line break is one: agents write lines as people do
// in a chat.
func (w *htmlWriter) text(n *ast.Text) {
	value := n.Segment.Value(w.src)
	if !n.IsRaw() {
		value = util.UnescapePunctuations(value)
	}
	w.raw(escape(string(value)))
	if n.HardLineBreak() || n.SoftLineBreak() {
		w.raw("<br>")
	}
}

func (w *htmlWriter) codeSpan(n *ast.CodeSpan) {
	w.raw("<code>")
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			w.raw(escape(strings.ReplaceAll(string(t.Segment.Value(w.src)), "\n", " ")))
		}
	}
	w.raw("</code>")
}

func (w *htmlWriter) autoLink(n *ast.AutoLink) {
	label := string(n.Label(w.src))
	dest := label
	if n.AutoLinkType == ast.AutoLinkEmail {
		dest = "mailto:" + label
	}
	l, ok := safeLink(dest)
	if !ok || w.inLink {
		w.raw(escape(label))
		return
	}
	w.anchor(l)
	w.raw(escape(label), "</a>")
}

// link writes a link with the host that it goes to beside it; what is no link
// that we let through is text, with its destination. An image is never loaded: it
// is a link to it.
func (w *htmlWriter) link(lead string, n ast.Node, dest, title string) {
	dest = string(util.UnescapePunctuations([]byte(dest)))
	l, ok := safeLink(dest)
	if ok = ok && !w.inLink; ok {
		w.anchor(l)
	}
	from := w.b.Len()
	w.raw(lead)
	outer := w.inLink
	w.inLink = true
	w.children(n)
	w.inLink = outer
	text := w.b.String()[min(from, w.b.Len()):]
	switch {
	case text == lead && ok:
		w.raw(escape(l.href))
		fallthrough
	case ok:
		w.raw("</a>")
		w.host(l, text)
	case dest != "":
		w.raw(` <span class="dest">(`, escape(dest), `)</span>`)
	}
	if title != "" {
		w.raw(` <span class="dest">“`, escape(title), `”</span>`)
	}
}

func (w *htmlWriter) anchor(l link) {
	w.raw(`<a href="`, escape(l.href), `" rel="noopener noreferrer nofollow" referrerpolicy="no-referrer" target="_blank">`)
}

// host says where a link goes: louder if its text says that it goes elsewhere.
func (w *htmlWriter) host(l link, text string) {
	if l.lies(text) {
		w.raw(` <bdi class="host lies">really goes to `, escape(l.host), `</bdi>`)
		return
	}
	w.raw(` <bdi class="host">(`, escape(l.host), `)</bdi>`)
}

func (w *htmlWriter) table(n ast.Node) {
	switch n := n.(type) {
	case *east.Table:
		w.raw(`<div class="wide" tabindex="0"><table>`)
		w.children(n)
		if n.ChildCount() > 1 {
			w.raw("</tbody>")
		}
		w.raw("</table></div>")
	case *east.TableHeader:
		w.raw("<thead><tr>")
		w.cells(n, "th")
		w.raw("</tr></thead>")
		if n.NextSibling() != nil {
			w.raw("<tbody>")
		}
	case *east.TableRow:
		w.raw("<tr>")
		w.cells(n, "td")
		w.raw("</tr>")
	default: // nothing else is parsed
		w.children(n)
	}
}

func (w *htmlWriter) cells(row ast.Node, tag string) {
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		class := ""
		if cell, ok := c.(*east.TableCell); ok && (cell.Alignment == east.AlignRight || cell.Alignment == east.AlignCenter) {
			class = ` class="` + cell.Alignment.String() + `"`
		}
		w.in(tag+class, c)
	}
}
