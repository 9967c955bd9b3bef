package install

import (
	"fmt"
	"strings"
)

// context is how many unchanged lines a diff shows around a change.
const context = 3

// edit is one line of a comparison.
type edit struct {
	op   byte // ' ', '-', '+'
	line string
}

// Diff compares two texts as a unified diff shows it: lines that begin with
// "---", "+++", "@@", " ", "-" or "+". It is nil for equal texts. name stands in
// the head; old is nil for a file that is not there yet.
func Diff(name string, old, new []byte) []string {
	if string(old) == string(new) {
		return nil
	}
	from := name
	if old == nil {
		from = "/dev/null"
	}
	out := []string{"--- " + from, "+++ " + name}
	edits := compareLines(splitLines(string(old)), splitLines(string(new)))
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i++
			continue
		}
		start, end := max(0, i-context), hunkEnd(edits, i)
		out = append(out, hunk(edits, start, end)...)
		i = end
	}
	return out
}

// hunkEnd is where the hunk ends that has a change at i: behind the last change
// that no gap of unchanged lines parts from it.
func hunkEnd(edits []edit, i int) int {
	last := i
	for k := i; k < len(edits) && k-last <= 2*context; k++ {
		if edits[k].op != ' ' {
			last = k
		}
	}
	return min(len(edits), last+1+context)
}

func hunk(edits []edit, start, end int) []string {
	a, b := 1, 1 // line numbers
	for _, e := range edits[:start] {
		if e.op != '+' {
			a++
		}
		if e.op != '-' {
			b++
		}
	}
	na, nb := 0, 0
	var body []string
	for _, e := range edits[start:end] {
		if e.op != '+' {
			na++
		}
		if e.op != '-' {
			nb++
		}
		line, whole := strings.CutSuffix(e.line, "\n")
		body = append(body, string(e.op)+strings.TrimSuffix(line, "\r"))
		if !whole {
			body = append(body, `\ No newline at end of file`)
		}
	}
	return append([]string{fmt.Sprintf("@@ -%s +%s @@", span(a, na), span(b, nb))}, body...)
}

func span(at, n int) string {
	if n == 0 {
		at--
	}
	return fmt.Sprintf("%d,%d", at, n)
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	return lines[:len(lines)-1+min(1, len(lines[len(lines)-1]))]
}

// compareLines finds a shortest comparison (E. Myers, 1986). The installation
// adds little to files that may be long, for which it is made.
func compareLines(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []edit
	for _, l := range a[:head] {
		out = append(out, edit{' ', l})
	}
	out = append(out, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		out = append(out, edit{' ', l})
	}
	return out
}

func middle(a, b []string) []edit {
	trace, at := [][]int{}, make([]int, 2*(len(a)+len(b))+3)
	mid := len(a) + len(b) + 1
	for d := 0; ; d++ {
		trace = append(trace, append([]int(nil), at...))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && at[mid+k-1] < at[mid+k+1] {
				x = at[mid+k+1]
			} else {
				x = at[mid+k-1] + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			if at[mid+k] = x; x >= len(a) && x-k >= len(b) {
				return walkBack(a, b, trace, mid)
			}
		}
	}
}

func walkBack(a, b []string, trace [][]int, mid int) []edit {
	var back []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		at, k := trace[d], x-y
		prev := k - 1
		if k == -d || k != d && at[mid+k-1] < at[mid+k+1] {
			prev = k + 1
		}
		px := at[mid+prev]
		py := px - prev
		for x > px && y > py && x > 0 && y > 0 {
			x, y = x-1, y-1
			back = append(back, edit{' ', a[x]})
		}
		switch {
		case d == 0:
		case prev == k+1:
			y--
			back = append(back, edit{'+', b[y]})
		default:
			x--
			back = append(back, edit{'-', a[x]})
		}
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}
