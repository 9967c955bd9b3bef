package link

import (
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
)

// An envelope that crashes this station would come again and again, and hold up
// all that lies behind it. So what is being taken stands in trying.json; found
// there at a start, it is suspect and taken alone from then on; one that crashes
// the station twice, alone, is set aside.
const (
	tryingFile     = "trying.json"
	suspectsFile   = "suspects.json"
	quarantineDir  = station.Dir + "/quarantine"
	crashesAllowed = 2
)

// suspects counts crashes while an envelope was taken alone, by its digest.
type suspects map[mail.Digest]int

func (e *engine) loadSuspects() error {
	e.suspects = suspects{}
	if err := readJSON(e, suspectsFile, &e.suspects); err != nil {
		return err
	}
	var trying []mail.Digest
	if err := readJSON(e, tryingFile, &trying); err != nil {
		return err
	}
	for _, d := range trying {
		if len(trying) == 1 {
			e.suspects[d]++
		} else if _, known := e.suspects[d]; !known {
			e.suspects[d] = 0
		}
	}
	if len(trying) == 0 {
		return nil
	}
	data, err := json.Marshal(e.suspects)
	if err != nil {
		return err
	}
	if err := replaceDurably(e.fs(), station.Dir, suspectsFile, append(data, '\n')); err != nil {
		return err
	}
	e.tried()
	return nil
}

func readJSON(e *engine, name string, into any) error {
	data, _, err := spool.ReadFile(e.fs(), station.Dir+"/"+name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	json.Unmarshal(data, into) // torn: nobody is suspect
	return nil
}

// try notes what is about to be taken. It is not synced: a process that dies
// leaves it all the same.
func (e *engine) try(digests ...mail.Digest) {
	data, err := json.Marshal(digests)
	if err == nil {
		err = spool.Replace(e.fs(), station.Dir, tryingFile, append(data, '\n'))
	}
	if err != nil {
		e.log.Warn("what is being taken cannot be noted", "error", line(err))
	}
}

func (e *engine) tried() { e.fs().Remove(station.Dir + "/" + tryingFile) }

// quarantined sets an envelope aside that crashed this station before.
func (e *engine) quarantined(par Parcel, d mail.Digest) bool {
	if e.suspects[d] < crashesAllowed {
		return false
	}
	name := string(d[:16])
	err := makeDirs(e.fs(), station.Dir, quarantineDir)
	if err == nil {
		err = replaceDurably(e.fs(), quarantineDir, name, par.Data())
	}
	if err != nil {
		par.Nak(later)
		return true
	}
	e.alarm(par.From(), "an envelope of it ended this program twice; it was set aside: link/quarantine/"+name)
	par.Term("it was set aside")
	return true
}
