package office

import "github.com/postroom/postroom/internal/registry"

// roll is every agent of one address book as an author, so that a router that
// runs all the time does not read a thousand entries for each pass.
type roll struct {
	book    *registry.Registry
	authors []Author
	away    []registry.Entry // whose mailbox is elsewhere: who is there is asked each time
}

// Authors lists every agent as an author; those are left out whose mailbox can't
// be opened now.
func (o *Office) Authors(reg *registry.Registry) []Author {
	o.mu.Lock()
	r := o.roll
	o.mu.Unlock()
	if r.book != reg {
		r = o.call(reg)
		if len(r.authors)+len(r.away) == reg.Len() { // an entry that can't be read now is asked for again
			o.mu.Lock()
			o.roll = r
			o.mu.Unlock()
		}
	}
	all := r.authors[:len(r.authors):len(r.authors)]
	for _, e := range r.away {
		if a, err := o.Author(e); err == nil {
			all = append(all, a)
		}
	}
	return all
}

func (o *Office) call(reg *registry.Registry) roll {
	r := roll{book: reg, authors: make([]Author, 0, reg.Len())}
	for e := range reg.All() {
		if a, err := o.Author(e); err == nil && a.Box.Shared {
			r.authors = append(r.authors, a)
		} else {
			r.away = append(r.away, e)
		}
	}
	return r
}
