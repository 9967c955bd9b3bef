package top

import "strings"

// cell is one piece of a row. Its text is ours or went through line.
type cell struct {
	text string
	look look
}

// row is one line of a pane.
type row struct {
	key   string // names what it stands for, whatever its place
	cells []cell
}

// matches reports whether the row has all the words, whatever their case.
func (r row) matches(words []string) bool {
	var b strings.Builder
	for _, c := range r.cells {
		b.WriteString(strings.ToLower(c.text))
		b.WriteByte(' ')
	}
	all := b.String()
	for _, w := range words {
		if !strings.Contains(all, w) {
			return false
		}
	}
	return true
}

// column says what happens to the cells of one column where room is short.
type column struct {
	drop  int  // the greatest goes first; 0 stays
	spare bool // is there only where nothing else has to be cut for it
	flex  bool // takes what is left
	least int  // what a flexible one needs to say anything
	most  int  // its greatest width; 0: any
	right bool // numbers stand at the right
}

const gap = 2

// measure says how wide each column is, in a room; -1: left out.
func measure(cols []column, rows []row, room int) []int {
	w := make([]int, len(cols))
	for _, r := range rows {
		for i, c := range r.cells {
			w[i] = max(w[i], width(c.text))
		}
	}
	for i, c := range cols {
		switch {
		case w[i] == 0:
			w[i] = -1 // nobody has anything there
		case c.most > 0:
			w[i] = min(w[i], c.most)
		}
	}
	if natural(cols, w) > room {
		for i, c := range cols {
			if c.spare {
				w[i] = -1
			}
		}
	}
	for {
		used := total(cols, w)
		if used <= room {
			return widen(cols, w, room-used)
		}
		if !omit(cols, w) {
			for i, c := range cols {
				if c.flex {
					w[i] = min(w[i], c.least)
				}
			}
			shrink(w, used-room)
			return w
		}
	}
}

// wideEnough is from where on a flexible column may be cut for others' sake.
const wideEnough = 60

// natural is what the columns would take.
func natural(cols []column, w []int) int {
	sum := -gap
	for i, n := range w {
		switch {
		case n < 0:
		case cols[i].flex:
			sum += gap + min(n, wideEnough)
		default:
			sum += gap + n
		}
	}
	return sum
}

// total is what the columns need at least.
func total(cols []column, w []int) int {
	sum := -gap
	for i, n := range w {
		switch {
		case n < 0:
		case cols[i].flex:
			sum += gap + min(n, cols[i].least)
		default:
			sum += gap + n
		}
	}
	return sum
}

// omit leaves out the column that matters least.
func omit(cols []column, w []int) bool {
	worst := -1
	for i, c := range cols {
		if w[i] >= 0 && c.drop > 0 && (worst < 0 || c.drop > cols[worst].drop) {
			worst = i
		}
	}
	if worst >= 0 {
		w[worst] = -1
	}
	return worst >= 0
}

// widen gives what is left to the flexible columns.
func widen(cols []column, w []int, left int) []int {
	for i, c := range cols {
		if c.flex && w[i] > 0 {
			least := min(w[i], c.least)
			w[i] = min(w[i], least+left)
			left -= w[i] - least
		}
	}
	return w
}

// shrink takes from the widest column until all fit.
func shrink(w []int, over int) {
	for ; over > 0; over-- {
		widest := 0
		for i, n := range w {
			if n > w[widest] {
				widest = i
			}
		}
		if w[widest] <= 1 {
			return
		}
		w[widest]--
	}
}

// draw writes a row as measured.
func (r row) draw(t theme, cols []column, w []int) string {
	var b strings.Builder
	for i, c := range r.cells {
		if w[i] < 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		s := fit(c.text, w[i])
		space := strings.Repeat(" ", max(0, w[i]-width(s)))
		if cols[i].right {
			b.WriteString(space + t.paint(c.look, s))
		} else {
			b.WriteString(t.paint(c.look, s) + space)
		}
	}
	return b.String()
}
