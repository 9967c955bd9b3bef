package verify

// page is how many values stand together.
const page = 4096

// paged is a list that grows without being copied: half a million values that
// move to a larger place would for a moment take room twice. What it returns
// stays where it is.
type paged[T any] struct {
	pages [][]T
	n     int
}

func (p *paged[T]) len() int { return p.n }

func (p *paged[T]) at(i int) *T { return &p.pages[i/page][i%page] }

func (p *paged[T]) add(v T) *T {
	if p.n%page == 0 {
		p.pages = append(p.pages, make([]T, 0, page))
	}
	last := &p.pages[len(p.pages)-1]
	*last = append(*last, v)
	p.n++
	return &(*last)[len(*last)-1]
}
