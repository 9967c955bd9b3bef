package standing

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/spool"
)

// Heard reads what a mailbox says of its agent's session.
func Heard(box spool.Box) (presence.Session, bool) {
	p, ok, err := presence.ReadIn(box.FS, box.Dir)
	return p, ok && err == nil
}

// lastReceipt says when the owner last did anything; zero if it never did.
func lastReceipt(box spool.Box) (time.Time, error) {
	const tail = 64 << 10
	f, err := box.FS.OpenFile(box.Path(spool.Receipts), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	from := max(0, fi.Size()-tail)
	buf := make([]byte, fi.Size()-from)
	if n, err := f.ReadAt(buf, from); err != nil && err != io.EOF {
		return time.Time{}, err
	} else {
		buf = buf[:n]
	}
	for _, line := range mail.LinesBackward(buf, from == 0) {
		if r, err := mail.ParseReceipt(line); err == nil {
			return r.At, nil
		}
	}
	return time.Time{}, nil
}
