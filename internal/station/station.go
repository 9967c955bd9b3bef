// Package station is what everybody in an office may know of its link without
// speaking to it: how the link stands, in link/status.json (spool-format.md
// §11). Only postd's link writes it; it is a hint, and nothing about mail depends
// on it.
package station

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// Dir holds all that the link keeps in the office.
const Dir = "link"

const statusFile = "status.json"

// Status is how the link stands, as who runs it saw it last.
type Status struct {
	V       int       `json:"v"`
	At      time.Time `json:"at"` // when it was written
	PID     int       `json:"pid"`
	Start   string    `json:"start,omitempty"` // of that process, as identity.ProcessTree says it
	Station string    `json:"station"`         // this office's name on the link
	Team    string    `json:"team"`
	Hub     string    `json:"hub"`
	Up      bool      `json:"up"`
	Since   time.Time `json:"since"`         // of Up
	Why     string    `json:"why,omitempty"` // of being down
	Peers   []Peer    `json:"peers,omitempty"`
	Alarms  []Alarm   `json:"alarms,omitempty"` // the newest ones, oldest first
}

// Peer is one far station.
type Peer struct {
	Station     string    `json:"station"`
	Fingerprint string    `json:"fingerprint"` // of its key
	Agents      int       `json:"agents"`
	Waiting     int       `json:"waiting,omitempty"` // messages of ours that have not arrived there
	Oldest      time.Time `json:"oldest,omitzero"`   // of these
	Heard       time.Time `json:"heard,omitzero"`    // when its last envelope came in
	Revoked     bool      `json:"revoked,omitempty"`
	Trouble     string    `json:"trouble,omitempty"` // why nothing goes there, one line
}

// Alarm is something that must not go unnoticed: a forged envelope, a changed
// key, mail that was set aside.
type Alarm struct {
	At      time.Time `json:"at"`
	Station string    `json:"station,omitempty"`
	Text    string    `json:"text"` // one line
}

// Read returns the status, and false if there is none.
func Read(fsys vfs.FS) (Status, bool, error) {
	data, _, err := spool.ReadFile(fsys, Dir+"/"+statusFile, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, false, nil
	}
	var s Status
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s, err == nil, err
}

// Write replaces the status.
func Write(fsys vfs.FS, s Status) error {
	s.V = 1
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return spool.Replace(fsys, Dir, statusFile, append(data, '\n'))
}
