package top

// box is a pane's place on the screen: from the line y on, height lines with its
// rule, from the column x on.
type box struct {
	pane                pane
	x, y, width, height int
}

const (
	// twoColumns is the width from which on lists stand side by side, in columns.
	twoColumns = 156
	// head is the lines above the panes.
	head = 1
	// leastRows is what a pane with anything in it shows at least, if there is
	// room.
	leastRows = 2
)

// layout shares the screen among the panes.
func (m Model) layout() []box {
	if m.width <= 0 || m.height <= 0 {
		return nil
	}
	room := m.height - head - len(m.foot())
	switch {
	case room <= 0:
		return nil
	case m.zoom:
		return m.share([]pane{m.focus}, 0, m.width, room)
	case m.width >= twoColumns:
		left := (m.width - 2) / 2
		return append(m.share([]pane{waiting, agents}, 0, left, room), m.share([]pane{moving, overdue}, left+2, m.width-left-2, room)...)
	}
	return m.share([]pane{waiting, agents, moving, overdue}, 0, m.width, room)
}

// share gives each pane what it needs, and as much of what is left as the others
// get. Where not even that much is there, the pane in focus is alone.
func (m Model) share(list []pane, x, width, room int) []box {
	want, have, left := make([]int, len(list)), make([]int, len(list)), room-len(list)
	for i, p := range list {
		want[i] = len(m.rows(p))
	}
	for round := range leastRows {
		for i := range list {
			if want[i] > round && left > 0 {
				have[i]++
				left--
			}
		}
	}
	if left < 0 || left == 0 && len(list) > 1 && short(want, have) {
		for _, p := range list {
			if p == m.focus {
				return []box{{p, x, head, width, room}}
			}
		}
		return []box{{list[0], x, head, width, room}}
	}
	for given := true; given && left > 0; {
		given = false
		for i := range list {
			if left > 0 && have[i] < want[i] {
				have[i]++
				left--
				given = true
			}
		}
	}
	var out []box
	y := head
	for i, p := range list {
		h := 1 + have[i]
		if i == len(list)-1 {
			h += left
		}
		out = append(out, box{p, x, y, width, h})
		y += h
	}
	return out
}

// short reports whether a pane that has rows shows none.
func short(want, have []int) bool {
	for i := range want {
		if want[i] > 0 && have[i] == 0 {
			return true
		}
	}
	return false
}
