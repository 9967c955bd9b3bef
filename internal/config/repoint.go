package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// Repoint makes everything that points to the office directory from point to
// the directory to.
func (u User) Repoint(from, to string) error {
	var errs []error
	if u.DefaultOffice() == from {
		errs = append(errs, u.SetDefaultOffice(to))
	}
	for _, kind := range []string{"sessions", "workspaces"} {
		files, err := os.ReadDir(filepath.Join(u.Dir, kind))
		if err != nil && !missing(err) {
			errs = append(errs, stateError(filepath.Join(u.Dir, kind), err))
		}
		for _, f := range files {
			errs = append(errs, u.repoint(filepath.Join(kind, f.Name()), from, to))
		}
	}
	return errors.Join(errs...)
}

func (u User) repoint(name, from, to string) error {
	data, err := os.ReadFile(filepath.Join(u.Dir, name))
	if err != nil {
		return nil // gone meanwhile
	}
	var b Binding
	if json.Unmarshal(data, &b) != nil || b.Office != from {
		return nil
	}
	b.Office = to
	if data, err = json.Marshal(b); err != nil {
		return err
	}
	return u.write(name, append(data, '\n'))
}
