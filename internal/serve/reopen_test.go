package serve

import (
	"net"
	"net/http"
	"testing"
)

// A page that is open finds its server again: it comes back where it was, unless
// somebody else is there now or it has no page.
func TestServeComesBackWhereItWas(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	page := http.NotFoundHandler()
	run := func(page http.Handler) string {
		t.Helper()
		s := d.server()
		s.Page = page
		d.serve(s)
		d.stop()
		if err := d.wait(); err != nil {
			t.Fatal(err)
		}
		return d.addr
	}
	first := run(page)
	if again := run(page); again != first {
		t.Errorf("it was at %s and comes back at %s", first, again)
	}
	l, err := net.Listen("tcp", first)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if other := run(page); other == first {
		t.Errorf("it is at %s, where somebody else is", other)
	}
}
