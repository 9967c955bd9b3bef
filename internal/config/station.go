package config

import (
	"bytes"
	"errors"

	"github.com/postroom/postroom/internal/mail"
)

// SetStation returns postroom.toml with another station, or with "" none. All
// other lines stay as they are, what a person wrote and what a later version
// knows too. The result is one that DecodeOffice takes.
func SetStation(data []byte, station string) ([]byte, error) {
	if _, err := DecodeOffice(data); err != nil {
		return nil, err
	}
	var out []byte
	set := []byte("station = " + quoteTOML(station) + "\n")
	done, top := station == "", true
	for line := range bytes.Lines(data) {
		text := bytes.TrimSpace(line)
		top = top && !bytes.HasPrefix(text, []byte("["))
		key, _, _ := bytes.Cut(text, []byte("="))
		switch key = bytes.TrimSpace(key); {
		case top && string(key) == "station":
			continue
		case top && string(key) == "office":
			if out = append(out, line...); !done {
				out, done = append(out, set...), true
			}
		default:
			out = append(out, line...)
		}
	}
	cfg, err := DecodeOffice(out)
	if err == nil && cfg.Station != station {
		err = &mail.Error{Op: "name station", Kind: mail.KindCorrupt, Addr: OfficeFile,
			Err: errors.New("has no line of its own for the office's id"), Hint: "write: station = " + quoteTOML(station)}
	}
	return out, err
}
