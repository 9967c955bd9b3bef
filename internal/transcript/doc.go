// Package transcript writes and reads the append-only markdown that a person
// reads: transcripts/_inbox_<name>.md and _channel_<a>_<b>….md (design §10;
// spool-format.md §9).
//
// Invariants. A section starts where a line begins with "## [" and nowhere
// else, and ends where the next one starts or the file ends; no subject and no
// body can make such a line. Completed sections never change: bytes before an
// intent's offset are never written or cut. Nothing is ever routed by what a
// transcript says. Writers hold the router's lease.
//
// The order of a write: Prepare, journal the Intent, Append, Sync. After a
// crash, Recover each intent that is not settled, in the order of the journal.
package transcript

import (
	"fmt"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// Dir is the transcripts' directory in the office.
const Dir = "transcripts"

// maxName is what file systems take as a name.
const maxName = 255

// path returns where file stands in the office. A file name is _inbox_… or
// _channel_… with .md behind, made of a-z, 0-9, and . - _ + @; anything else
// is KindInvalid, so no name leads out of the directory.
func path(file string) (string, error) {
	stem, md := strings.CutSuffix(file, ".md")
	inbox, channel := strings.HasPrefix(stem, "_inbox_"), strings.HasPrefix(stem, "_channel_")
	ok := md && (inbox || channel) && len(file) <= maxName
	for _, c := range []byte(stem) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte(".-_+@", c) >= 0)
	}
	if !ok {
		return "", &mail.Error{
			Op: "open transcript", Kind: mail.KindInvalid, Addr: fmt.Sprintf("%.80q", file),
			Err: fmt.Errorf("not the name of a transcript"), Hint: "use _inbox_NAME.md",
		}
	}
	return Dir + "/" + file, nil
}
