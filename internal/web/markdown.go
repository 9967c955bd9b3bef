package web

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/postroom/postroom/internal/mail"
)

// What one message may cost. What goes beyond is shown as it was written.
const (
	// markdownMax is how long a text may be, in bytes.
	markdownMax = 64 << 10
	// nestMax is how deep blocks may stand in each other; a list and its item are two.
	nestMax = 16
	// scanMax is how many bytes may be looked at in search of links' ends.
	scanMax = 16 << 20
	// marksMax is how many emphasis marks one paragraph may hold.
	marksMax = 1000
	// tableColumns and tableCells are the size of a table.
	tableColumns = 32
	tableCells   = 4000
	// growMax is how much longer than the text its HTML may be.
	growMax = 24
)

// markdown renders a message's text, which is hostile (design §13; issue 4.8),
// as HTML of the few elements and attributes that htmlWriter writes. No HTML of
// the text's own comes through, nothing is loaded, no link hides where it goes,
// and every word of the text is there to be seen: no comments, no definitions, no
// titles, no cells that a table would drop.
func markdown(body string) template.HTML {
	body = mail.Neutralise(body, true)
	if len(body) > markdownMax {
		return plainText(body)
	}
	src := []byte(body)
	w := &htmlWriter{src: src, limit: growMax*len(src) + 4<<10}
	w.children(newParser().Parse(text.NewReader(src)))
	if w.full() {
		return plainText(body)
	}
	return template.HTML(w.b.String())
}

// plainText shows a text as it was written.
func plainText(body string) template.HTML {
	return template.HTML(`<pre class="as-written" tabindex="0">` + escape(mail.Neutralise(body, true)) + `</pre>`)
}

func escape(s string) string { return template.HTMLEscapeString(s) }

// newParser is CommonMark without HTML, entities and reference links, with tables,
// task lists, struck text and bare URLs, and bounds on what costs more than it is
// long. It is made for one text.
func newParser() parser.Parser {
	cost := &cost{left: scanMax}
	prio := util.Prioritized
	return parser.NewParser(
		parser.WithBlockParsers(
			prio(parser.NewSetextHeadingParser(), 100), prio(parser.NewThematicBreakParser(), 200),
			prio(shallow{parser.NewListParser()}, 300), prio(parser.NewListItemParser(), 400),
			prio(parser.NewCodeBlockParser(), 500), prio(parser.NewATXHeadingParser(), 600),
			prio(parser.NewFencedCodeBlockParser(), 700), prio(shallow{parser.NewBlockquoteParser()}, 800),
			prio(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(
			prio(extension.NewTaskCheckBoxParser(), 0), prio(parser.NewCodeSpanParser(), 100),
			prio(&links{parser.NewLinkParser(), cost}, 200), prio(parser.NewAutoLinkParser(), 300),
			prio(&marks{parser.NewEmphasisParser(), cost}, 500), prio(&marks{extension.NewStrikethroughParser(), cost}, 500),
			prio(bareURL{}, 600)),
		parser.WithParagraphTransformers(prio(smallTables{extension.NewTableParagraphTransformer()}, 200)),
		parser.WithASTTransformers(prio(extension.NewTableASTTransformer(), 0)),
	)
}

// shallow is a block that opens no deeper than nestMax.
type shallow struct{ parser.BlockParser }

func (p shallow) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if len(pc.OpenedBlocks()) >= nestMax {
		return nil, parser.NoChildren
	}
	return p.BlockParser.Open(parent, r, pc)
}

// cost is what parsing one text may still cost.
type cost struct {
	left  int
	marks int // in this paragraph
}

// links stops looking for links where looking for their ends has cost too much.
type links struct {
	parser.InlineParser
	cost *cost
}

func (p *links) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if line, seg := r.PeekLine(); line[0] == ']' {
		p.cost.left -= len(r.Source()) - seg.Start
	}
	if p.cost.left < 0 {
		return nil
	}
	return p.InlineParser.Parse(parent, r, pc)
}

// CloseBlock ends a paragraph.
func (p *links) CloseBlock(parent ast.Node, r text.Reader, pc parser.Context) {
	p.cost.marks = 0
	p.InlineParser.(parser.CloseBlocker).CloseBlock(parent, r, pc)
}

// marks takes no more than marksMax emphasis marks in one paragraph.
type marks struct {
	parser.InlineParser
	cost *cost
}

func (p *marks) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if p.cost.marks >= marksMax {
		return nil
	}
	n := p.InlineParser.Parse(parent, r, pc)
	if n != nil {
		p.cost.marks++
	}
	return n
}

// smallTables makes tables of paragraphs that cannot grow into a large one, and of
// which no row has more cells than the table would show.
type smallTables struct{ parser.ParagraphTransformer }

func (t smallTables) Transform(p *ast.Paragraph, r text.Reader, pc parser.Context) {
	lines, widest, narrowest := p.Lines(), 0, tableCells
	if lines.Len() < 2 {
		return
	}
	for i := range lines.Len() {
		seg := lines.At(i)
		n := cells(seg.Value(r.Source()))
		widest, narrowest = max(widest, n), min(narrowest, n)
		if i == 1 && widest > narrowest {
			return // the head and the line below it differ
		}
		if i > 1 && n > cells(firstLine(lines, r)) {
			return
		}
	}
	if widest <= tableColumns && widest*lines.Len() <= tableCells {
		t.ParagraphTransformer.Transform(p, r, pc)
	}
}

func firstLine(lines *text.Segments, r text.Reader) []byte {
	seg := lines.At(0)
	return seg.Value(r.Source())
}

// cells counts the cells of a table's row.
func cells(line []byte) int {
	line = bytes.TrimSpace(line)
	line = bytes.TrimPrefix(line, []byte("|"))
	if !bytes.HasSuffix(line, []byte(`\|`)) {
		line = bytes.TrimSuffix(line, []byte("|"))
	}
	return 1 + bytes.Count(line, []byte("|")) - bytes.Count(line, []byte(`\|`))
}

// bareURL makes a link of an http or https URL that stands by itself.
type bareURL struct{}

// Trigger: a space stands for the beginning of a line, too.
func (bareURL) Trigger() []byte { return []byte{' ', '(', '*', '_', '~'} }

func (bareURL) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	line, seg := r.PeekLine()
	lead := 0
	if bytes.IndexByte([]byte(" (*_~"), line[0]) >= 0 {
		lead = 1
	}
	n := urlLength(string(line[lead:min(len(line), lead+linkMax)]))
	if n == 0 || pc.IsInLinkLabel() {
		return nil
	}
	if lead > 0 {
		ast.MergeOrAppendTextSegment(parent, seg.WithStop(seg.Start+1))
	}
	r.Advance(lead + n)
	return ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(text.NewSegment(seg.Start+lead, seg.Start+lead+n)))
}

// urlLength is how much of the beginning of s is a URL, without the punctuation
// that ends a sentence or closes what was open before it.
func urlLength(s string) int {
	if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return 0
	}
	end := strings.IndexFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune("<>\"`\\^{}|[]", c)
	})
	if end < 0 {
		end = len(s)
	}
	for end > 0 && strings.IndexByte(".,:;!?*_~'", s[end-1]) >= 0 || end > 0 && s[end-1] == ')' && strings.Count(s[:end], ")") > strings.Count(s[:end], "(") {
		end--
	}
	if _, ok := safeLink(s[:end]); !ok {
		return 0
	}
	return end
}
