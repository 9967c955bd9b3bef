package cli

import (
	"errors"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
)

// put writes one file: a copy of what was there, what to know for putting it
// back, and the new text, in this order: whatever kills it, the file can be put
// back to the byte.
func (in *installing) put(e *Env, c *fileChange, r *installReport) error {
	now, err := c.record(e.Now(), r)
	if err != nil {
		return err
	}
	warn := func(err error) {
		if err != nil {
			e.Warn("installed, but %v", err)
		}
	}
	unknown := e.User().SetInstalled(now)
	dir, err := c.file.write(c.result.Data)
	switch {
	case err != nil && c.has:
		return errors.Join(err, e.User().SetInstalled(c.known))
	case err != nil:
		return errors.Join(err, e.User().ForgetInstalled(c.Path))
	case dir != "":
		now.Dir = dir
		warn(e.User().SetInstalled(now))
	default:
		warn(unknown)
	}
	return nil
}

// record is what to know for putting the file back. What is there is kept beside
// it, unless it is what an earlier installation wrote.
func (c *fileChange) record(at time.Time, r *installReport) (config.Installed, error) {
	now := config.Installed{Path: c.Path, Runtime: c.Runtime, New: c.file.data == nil, Dir: c.known.Dir,
		After: string(mail.DigestOf(c.result.Data)), Made: append([]string{}, c.result.Made...)}
	current := string(mail.DigestOf(c.file.data))
	if c.file.data == nil || c.has && c.known.Before == current {
		// Whatever was known is gone with the file, or of a writing that was killed
		// before it began.
		c.has, c.known = false, config.Installed{Dir: c.known.Dir}
	}
	switch {
	case c.has && c.known.After == current:
		now.New, now.Before, now.Backup = c.known.New, c.known.Before, c.known.Backup
	case c.file.data != nil:
		backup, err := c.file.backup(at)
		if err != nil {
			return now, err
		}
		now.Backup = backup
		r.Backups = append(r.Backups, backup)
		if !c.has {
			now.Before = current
		}
	}
	if c.has {
		now.Made, now.New = append(now.Made, c.known.Made...), c.known.New
	}
	return now, nil
}
