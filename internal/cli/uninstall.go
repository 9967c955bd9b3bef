package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/postroom/postroom/internal/install"
	"github.com/postroom/postroom/internal/mail"
)

func (in *installing) uninstall(_ context.Context, e *Env, runtime string) error {
	targets, err := install.Targets(runtime, install.Scope(in.scope), in.place, in.all(runtime))
	if err != nil {
		return err
	}
	r := installReport{Runtime: runtime, Scope: in.scope, DryRun: in.dry, Gone: true, Files: []fileReport{}}
	slices.Reverse(targets) // a directory that was made for the first one goes with it, last
	err = in.locked(e, targets, func() error {
		list, err := in.plan(e, targets, restored)
		if err != nil {
			return err
		}
		for _, c := range list {
			if !in.dry {
				if err := in.takeBack(e, &c, &r); err != nil {
					return err
				}
			}
			r.add(c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	in.report(e, r)
	return nil
}

// restored is the file without what is ours: as it was, if nobody touched it
// since, else without what is recognised.
func restored(c fileChange) (install.Result, error) {
	var made []string
	if c.has {
		made = append([]string{}, c.known.Made...)
	}
	r, err := c.Uninstall(c.file.data, made)
	if err != nil || len(r.Changes) == 0 {
		return r, err
	}
	if r.Empty = r.Empty && (c.Whole || c.has && c.known.New); r.Empty {
		r.Data = nil
		return r, nil
	}
	if c.has && c.known.Before != "" && c.known.After == string(mail.DigestOf(c.file.data)) {
		if old, err := os.ReadFile(c.known.Backup); err == nil && string(mail.DigestOf(old)) == c.known.Before {
			if ours, err := c.Uninstall(old, nil); err == nil && len(ours.Changes) == 0 {
				r.Data = old
			}
		}
	}
	return r, nil
}

// takeBack writes the file as it shall be, or removes one that was made.
func (in *installing) takeBack(e *Env, c *fileChange, r *installReport) error {
	exact := c.has && c.known.Before != "" && string(mail.DigestOf(c.result.Data)) == c.known.Before
	if !exact && !c.result.Empty {
		backup, err := c.file.backup(e.Now())
		if err != nil {
			return err
		}
		r.Backups = append(r.Backups, backup)
	}
	if c.result.Empty {
		if err := os.Remove(c.file.real); err != nil {
			return &mail.Error{Op: "remove settings", Kind: mail.KindStore, Addr: c.name(), Err: err}
		}
		if c.has && c.known.Dir != "" {
			_ = os.Remove(c.known.Dir) // if nothing else is in it
		}
	} else if _, err := c.file.write(c.result.Data); err != nil {
		return err
	}
	if exact {
		_ = os.Remove(c.known.Backup) // it is what the file is again
	}
	if err := e.User().ForgetInstalled(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.Warn("uninstalled, but %v", err)
	}
	return nil
}
