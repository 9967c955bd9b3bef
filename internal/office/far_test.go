package office_test

import (
	"slices"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/spool"
)

// farOf lists the far agents in service.
func farOf(t *testing.T, d *officetest.Desk) (names []string) {
	t.Helper()
	reg, err := d.Office().Registry()
	if err != nil {
		t.Fatal(err)
	}
	for e := range reg.All() {
		if e.Station != "" && !e.Archived {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// set is SetFar and what its caller does after it.
func set(t *testing.T, d *officetest.Desk, station string, list []office.FarAgent) (bool, []error) {
	t.Helper()
	o := d.Office()
	reg, err := o.Registry()
	if err != nil {
		t.Fatal(err)
	}
	changed, refused, err := o.SetFar(reg, station, list)
	if err != nil {
		t.Fatal(err)
	}
	if err := reg.Save(o.FS); err != nil {
		t.Fatal(err)
	}
	return changed, refused
}

func TestSetFar(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	bob, eve := office.FarAgent{Name: "bob", AID: "l-bob", Role: "reviews"}, office.FarAgent{Name: "eve", AID: "l-eve"}
	if changed, refused := set(t, d, "lab", []office.FarAgent{bob, eve}); !changed || len(refused) > 0 {
		t.Fatal(changed, refused)
	}
	if got := farOf(t, d); !slices.Equal(got, []string{"bob@lab", "eve@lab", "human@lab", "postroom@lab"}) {
		t.Fatal(got)
	}
	for _, name := range farOf(t, d) {
		box := d.Box(name).Author.Box
		if ids, _, err := box.Pending(nil); err != nil || len(ids) > 0 {
			t.Errorf("mailbox of %s: %v %v", name, ids, err)
		}
	}
	if changed, refused := set(t, d, "lab", []office.FarAgent{bob, eve}); changed || len(refused) > 0 {
		t.Fatal("a repeat changes something", refused)
	}
	set(t, d, "lab", []office.FarAgent{bob})
	if got := farOf(t, d); !slices.Equal(got, []string{"bob@lab", "human@lab", "postroom@lab"}) {
		t.Fatal(got)
	}
	set(t, d, "lab", nil)
	if got := farOf(t, d); len(got) != 0 {
		t.Fatal(got)
	}
	set(t, d, "lab", []office.FarAgent{bob, eve})
	if got := farOf(t, d); len(got) != 4 {
		t.Fatal("who comes back is not in service again", got)
	}
}

// One thing that a station may not say stops nothing else that it says.
func TestSetFarRefuses(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "zoo", "eve")
	bad := []office.FarAgent{{Name: "human", AID: "l-1"}, {Name: "postroom", AID: "l-2"}, {Name: "x", AID: "far-human-zoo"},
		{Name: "y", AID: "a-coder"}, {Name: "z", AID: officetest.FarAID("eve", "zoo")}, {Name: "A", AID: "l-3"}, {Name: "a@b", AID: "l-4"}}
	changed, refused := set(t, d, "lab", append(bad, office.FarAgent{Name: "bob", AID: "l-bob"}))
	if !changed || len(refused) != len(bad) {
		t.Fatalf("%d refused of %d: %v", len(refused), len(bad), refused)
	}
	if got := farOf(t, d); !slices.Equal(got, []string{"bob@lab", "eve@zoo", "human@lab", "human@zoo", "postroom@lab", "postroom@zoo"}) {
		t.Fatal(got)
	}
	o := d.Office()
	reg, _ := o.Registry()
	if _, _, err := o.SetFar(reg, "us", nil); mail.KindOf(err) != mail.KindInvalid {
		t.Fatalf("our own name is another station: %v", err)
	}
}

// The mailboxes are durable before the registry names them.
func TestSetFarCrash(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	set(t, d, "lab", []office.FarAgent{{Name: "bob", AID: "l-bob"}})
	for disk := range d.Mem.CrashStates(100000) {
		c := d.On(disk)
		for _, name := range farOf(t, c) {
			for _, dir := range []string{spool.Inbox, spool.Done, spool.Outbox, spool.Sent, spool.Failed} {
				box := c.Box(name).Author.Box
				if _, err := box.FS.ReadNames(box.Path(dir)); err != nil {
					t.Fatalf("%s is registered: %v", name, err)
				}
			}
		}
		set(t, c, "lab", []office.FarAgent{{Name: "bob", AID: "l-bob"}})
	}
}

// A process that lives on sees that the office was linked, and that it is no more.
func TestStationOfALivingProcess(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	serves := d.Office()
	see := func(want string) {
		t.Helper()
		for range 2 {
			d.Clock.Advance(2 * time.Second)
			if err := serves.CheckWritable(); err != nil {
				t.Fatal(err)
			}
		}
		if got := serves.Settings().Station; got != want || serves.Station() != want {
			t.Fatalf("it is station %q, want %q", got, want)
		}
	}
	see("")
	for _, name := range []string{"us", "them", ""} {
		if err := d.Office().SetStation(name); err != nil {
			t.Fatal(err)
		}
		see(name)
	}
	for _, bad := range []string{"Us", "a.b", "human"} {
		if err := d.Office().SetStation(bad); err == nil {
			t.Errorf("%q is a station", bad)
		}
	}
}
