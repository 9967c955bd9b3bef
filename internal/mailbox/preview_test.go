package mailbox_test

import (
	"slices"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/vfs"
)

func previewDesk(t *testing.T) *mailbox.Mailbox {
	t.Helper()
	clock := officetest.NewClock()
	mem := vfs.NewMem(clock.Now)
	officetest.Make(t, mem, clock.Now(), "coder", "tester", "writer")
	o, err := office.Open(officetest.Dir, officetest.System(clock, func(string) (vfs.FS, error) { return mem, nil }))
	if err != nil {
		t.Fatal(err)
	}
	m, err := mailbox.Open(o, office.Human)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPreview says who gets it, by the rules that send it, and stores nothing.
func TestPreview(t *testing.T) {
	t.Parallel()
	m := previewDesk(t)
	names := func(d mailbox.Draft) (got [][]string) {
		d.Subject, d.Body = "s", "b"
		reach, err := m.Preview(d)
		if err != nil {
			return [][]string{{string(mail.KindOf(err))}}
		}
		for _, r := range reach {
			var list []string
			for _, a := range r.Agents {
				name := a.Name
				if a.CC {
					name += " cc"
				}
				if a.Obliges && !a.Due.IsZero() {
					name += " owes"
				}
				list = append(list, name)
			}
			got = append(got, list)
		}
		return got
	}
	for _, c := range []struct {
		draft mailbox.Draft
		want  [][]string
	}{
		{mailbox.Draft{To: []string{"coder"}}, [][]string{{"coder"}}},
		{mailbox.Draft{To: []string{"coder"}, CC: []string{"writer"}, Act: mail.Request}, [][]string{{"coder owes", "writer cc"}}},
		{mailbox.Draft{To: []string{"broadcast"}, Act: mail.Query}, [][]string{{"coder owes", "tester owes", "writer owes"}}},
		{mailbox.Draft{To: []string{"coder", "tester"}}, [][]string{{"coder"}, {"tester"}}},
		{mailbox.Draft{To: []string{"coder", "codr"}}, [][]string{{string(mail.KindUnknown)}}},
		{mailbox.Draft{}, [][]string{{string(mail.KindUsage)}}},
	} {
		got := names(c.draft)
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%+v: %v, want %v", c.draft, got, c.want)
		}
	}
	ids, raw, err := m.Author.Box.Pending(nil)
	if err != nil || len(ids)+len(raw) > 0 {
		t.Errorf("stored: %v %v %v", ids, raw, err)
	}
}
