package journal

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// after collects what stands behind a position.
func after(fsys vfs.FS, pos Position) (ids []string, end Position, err error) {
	end = pos
	err = After(fsys, pos, func(r Record, at Position) error {
		ids, end = append(ids, string(r.ID)), at
		return nil
	})
	return ids, end, err
}

func TestAfter(t *testing.T) {
	t.Parallel()
	m := newMem()
	if ids, _, err := after(m, Position{}); err != nil || len(ids) > 0 {
		t.Fatalf("no journal: %v %v", ids, err)
	}
	j := mustOpen(t, m, day1)
	var all []string
	for i := range 6 {
		day := day1
		if i > 2 {
			day = day2
		}
		write(t, j, rec(day, Read, i))
		all = append(all, fmt.Sprintf("id-%d", i))
	}
	var places []Position
	if err := After(m, Position{}, func(_ Record, at Position) error { places = append(places, at); return nil }); err != nil {
		t.Fatal(err)
	}
	for i, p := range places {
		ids, _, err := after(m, p)
		if err != nil || strings.Join(ids, " ") != strings.Join(all[i+1:], " ") {
			t.Errorf("behind record %d: %v %v", p.N, ids, err)
		}
	}
	if total, rest := Size(m, Position{}), Size(m, places[5]); total != places[2].Offset+places[5].Offset || rest != 0 {
		t.Errorf("%d bytes in all, %d behind the end", total, rest)
	}
	stop := errors.New("enough")
	if err := After(m, Position{}, func(Record, Position) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestAfterAnotherJournal: a position that does not fit is no place to read on.
func TestAfterAnotherJournal(t *testing.T) {
	t.Parallel()
	m := newMem()
	j := mustOpen(t, m, day1)
	write(t, j, rec(day1, Read, 1), rec(day1, Read, 2))
	_, end, _ := after(m, Position{})
	for name, change := range map[string]func(*Position){
		"hash":   func(p *Position) { p.Hash = "x" },
		"offset": func(p *Position) { p.Offset-- },
		"beyond": func(p *Position) { p.Offset += 1000 },
		"file":   func(p *Position) { p.File = file2 },
	} {
		p := end
		change(&p)
		if _, _, err := after(m, p); !errors.Is(err, ErrElsewhere) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAfterTornAndUnreadable: a torn line waits; one in the middle is passed over
// and told of.
func TestAfterTornAndUnreadable(t *testing.T) {
	t.Parallel()
	m := newMem()
	j := mustOpen(t, m, day1)
	write(t, j, rec(day1, Read, 1), rec(day1, Read, 2), rec(day1, Read, 3))
	text := read(t, m, file1)
	lines := strings.SplitAfter(text, "\n")
	put(t, m, file1, text[:len(text)-1])
	ids, end, err := after(m, Position{})
	if err != nil || len(ids) != 2 {
		t.Fatalf("torn: %v %v", ids, err)
	}
	put(t, m, file1, text)
	if ids, _, err := after(m, end); err != nil || len(ids) != 1 {
		t.Errorf("whole: %v %v", ids, err)
	}
	put(t, m, file1, lines[0]+"{}\n"+lines[2])
	if ids, _, err := after(m, Position{}); len(ids) != 2 || mail.KindOf(err) != mail.KindCorrupt {
		t.Errorf("unreadable: %v %v", ids, err)
	}
}
