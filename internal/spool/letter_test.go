package spool

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// TestStoreInOrder: whatever call fails, the letters that are in the outbox are
// the first ones, without a gap, and those without an error are there.
func TestStoreInOrder(t *testing.T) {
	t.Parallel()
	const n = 4
	for at := 1; ; at++ {
		box, mem := newBox(t)
		var fault vfs.Fault
		box.FS = fault.Wrap(mem)
		fault.FailAt(at, errors.New("no space left"))
		var letters []*Letter
		for i := range n {
			letters = append(letters, &Letter{ID: mail.ID(fmt.Sprintf("2026-05-30T14-03-11-123Z-%04d-0123abcd", i)), Data: []byte(fmt.Sprint("letter ", i))})
		}
		box.StoreInOrder(letters, &Batch{})
		ids, _, err := Box{FS: mem, Dir: box.Dir}.Pending(nil)
		if err != nil {
			t.Fatal(err)
		}
		there := strings.Join(ids, " ")
		failed := false
		for i, l := range letters {
			in := strings.Contains(there, FileName(l.ID))
			if l.Err == nil && (!in || failed) {
				t.Fatalf("call %d: letter %d has no error: there %s, one before it failed: %v", at, i, there, failed)
			}
			failed = failed || l.Err != nil
		}
		for i, name := range ids {
			if name != FileName(letters[i].ID) {
				t.Fatalf("call %d: %s is there without those before it", at, there)
			}
		}
		if len(fault.Calls()) < at {
			return // nothing was left to fail
		}
	}
}
