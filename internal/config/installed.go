package config

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Installed is what one installation did to one settings file, so that it can
// be undone to the byte. Without it, what is ours is still recognised.
type Installed struct {
	Path    string `json:"path"`
	Runtime string `json:"runtime"`
	New     bool   `json:"new,omitempty"`    // there was no file
	Backup  string `json:"backup,omitempty"` // what was there before
	Before  string `json:"before,omitempty"` // digest of that; "" if it holds older things of ours
	After   string `json:"after"`            // digest of what was written
	// Made are lists, objects, rules and records of trust that were made.
	Made []string `json:"made,omitempty"`
	Dir  string   `json:"dir,omitempty"` // a directory that was made for the file
}

func installedName(path string) string { return filepath.Join("installed", entryName(path)) }

// Installed returns what is known of a settings file.
func (u User) Installed(path string) (Installed, bool) {
	data, err := os.ReadFile(filepath.Join(u.Dir, installedName(path)))
	var in Installed
	if err != nil || json.Unmarshal(data, &in) != nil || in.Path != path {
		return Installed{}, false
	}
	return in, true
}

// SetInstalled records what was done to in.Path.
func (u User) SetInstalled(in Installed) error {
	data, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return err
	}
	return u.write(installedName(in.Path), append(data, '\n'))
}

// ForgetInstalled removes the record, if there is one.
func (u User) ForgetInstalled(path string) error {
	err := os.Remove(filepath.Join(u.Dir, installedName(path)))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
