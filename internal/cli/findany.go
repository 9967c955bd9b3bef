package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

// monthsBack is how many months of the office's copies a short id is looked
// for in.
const monthsBack = 2

// findAny finds a message of the office, not only of this mailbox: among one's
// own first, then among the office's copies, the newest months.
func (d *desk) findAny(ref string) (mail.ID, error) {
	id, err := d.Find(ref)
	if mail.KindOf(err) != mail.KindNotFound || ref == "last" {
		return id, err
	}
	months, merr := d.Office.FS.ReadNames(office.MessagesDir)
	if merr != nil {
		return "", err
	}
	slices.Sort(months)
	slices.Reverse(months)
	var found []string
	for _, month := range months[:min(len(months), monthsBack)] {
		names, _ := d.Office.FS.ReadNames(office.MessagesDir + "/" + month) // a month that cannot be read has nothing to offer
		for _, n := range names {
			if c := mail.ID(strings.TrimSuffix(n, ".json")); c.Valid() && mail.MatchSuffix(c, ref) {
				found = append(found, string(c))
			}
		}
	}
	switch {
	case len(found) == 1:
		return mail.ID(found[0]), nil
	case len(found) > 1:
		return "", &mail.Error{Op: d.e.name, Kind: mail.KindAmbiguous, Addr: ref, Hint: "give more of the id",
			Err: errors.New("fits several: " + strings.Join(found[:min(len(found), 5)], ", "))}
	}
	return "", err
}
