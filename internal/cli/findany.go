package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
)

// monthsBack is how many months of the office's copies a short id is looked
// for in.
const monthsBack = 2

// findSeen is Find for what is answered or put away: there "last" is refused
// while the newest message is unread and another one was read and waits. The
// newest may have come after the one that is meant.
func (d *desk) findSeen(ref string) (mail.ID, error) {
	id, err := d.Find(ref)
	if err != nil || ref != mailbox.Last {
		return id, err
	}
	items, err := d.List(false)
	if err != nil {
		return id, nil // what opens it says what is wrong
	}
	var last, read *mailbox.Item
	for i := range items {
		switch it := &items[i]; {
		case it.ID == id && it.Unread():
			last = it
		case !it.Unread():
			read = it
		}
	}
	if last == nil || read == nil {
		return id, nil
	}
	return "", &mail.Error{Op: d.e.name, Kind: mail.KindAmbiguous, Addr: ref,
		Err:  errors.New("is " + short(id) + " from " + Line(last.From) + ", which is unread; what you read may be " + short(read.ID) + " from " + Line(read.From)),
		Hint: "give the id of the one you mean"}
}

// findAny finds a message of the office, not only of this mailbox: among one's
// own first, then among the office's copies, the newest months.
func (d *desk) findAny(ref string) (mail.ID, error) {
	id, err := d.Find(ref)
	if mail.KindOf(err) != mail.KindNotFound || ref == mailbox.Last {
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
