package office_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/vfs"
)

func rollOf(t *testing.T, o *office.Office) (names []string) {
	t.Helper()
	reg, err := o.Book()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range o.Authors(reg) {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

func wantRoll(t *testing.T, o *office.Office, want ...string) {
	t.Helper()
	if got := rollOf(t, o); !slices.Equal(got, want) {
		t.Fatalf("the authors are %v, want %v", got, want)
	}
}

// What is remembered of the address book never hides an agent: one who joined,
// one whose entry could not be read, one whose mailbox was away.
func TestAuthorsAreAllThere(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "ann", "ben")
	if err := d.Mem.Mkdir("away", 0o700); err != nil {
		t.Fatal(err)
	}
	d.Join("cat", "/away")
	o := d.Office()
	wantRoll(t, o, "ann", "ben", "cat")
	if err := d.Mem.Rename("away", "gone"); err != nil {
		t.Fatal(err)
	}
	wantRoll(t, o, "ann", "ben")
	if err := d.Mem.Rename("gone", "away"); err != nil {
		t.Fatal(err)
	}
	wantRoll(t, o, "ann", "ben", "cat")
	d.Join("dan", "")
	wantRoll(t, o, "ann", "ben", "cat", "dan")
	d.Edit(func(r *registry.Registry) error { return r.Rename("a-ann", "eve") })
	wantRoll(t, o, "ben", "cat", "dan", "eve")

	d.Fault = &vfs.Fault{}
	broken := false
	d.Fault.FailIf(func(c vfs.Call) error {
		if broken && c.Op == "read" && c.Name == registry.File {
			return errors.New("input/output error")
		}
		return nil
	})
	o = d.Office()
	if _, err := o.Book(); err != nil {
		t.Fatal(err)
	}
	broken = true
	if got := rollOf(t, o); len(got) != 0 {
		t.Fatalf("authors %v of a book that can't be read", got)
	}
	broken = false
	wantRoll(t, o, "ben", "cat", "dan", "eve")
}
