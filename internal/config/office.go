// Package config reads and writes what is set up once: an office's
// postroom.toml, and the user's own pointers to offices (design §3).
//
// Invariants. A file of a newer format is refused, never half-understood. What
// is missing gets the default; what is wrong is an error that names the key.
package config

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// Format is the on-disk format this version reads and writes
// (docs/spool-format.md).
const Format = 1

// OfficeFile is the name of an office's settings in its directory.
const OfficeFile = "postroom.toml"

// The ways to tell a person from an agent (design §11, --person-check).
const (
	PersonCheckFull = "env+parents"
	PersonCheckEnv  = "env"
	PersonCheckOff  = "off"
)

// Office is postroom.toml.
type Office struct {
	Format      int       `toml:"format"`
	ID          string    `toml:"office"`
	Name        string    `toml:"name,omitempty"` // for people; decides nothing
	Machine     string    `toml:"machine"`        // where the directory was made
	Inode       uint64    `toml:"inode"`          // the directory's own inode there
	Created     time.Time `toml:"created"`
	MadeWith    string    `toml:"made_with"`
	PersonCheck string    `toml:"person_check"`
	Policy      Policy    `toml:"policy"`
}

// Policy is the [policy] table. Durations are Go durations ("90m").
type Policy struct {
	HopCap         int    `toml:"hop_cap"`
	FuseTurns      int    `toml:"fuse_turns"`
	FusePerHour    int    `toml:"fuse_per_hour"`
	Due            string `toml:"due"`
	ExpireQuestion string `toml:"expire_question"`
	AskAgain       string `toml:"ask_again"`
	Undeliverable  string `toml:"undeliverable_after"`
	CopyAll        string `toml:"copy_all"`
	Orchestrator   string `toml:"orchestrator"`
	Arrow          string `toml:"arrow"`
	Audit          string `toml:"audit"`
}

// DefaultPolicy is what an office does when its file says nothing.
func DefaultPolicy() Policy {
	return Policy{
		HopCap: mail.HopCap, FuseTurns: 24, FusePerHour: 240,
		Due: "1h", ExpireQuestion: "168h", AskAgain: "24h", Undeliverable: "1h",
		Arrow: "→", Audit: "none",
	}
}

// New returns the settings of a new office.
func New(tool, personCheck string, now time.Time) Office {
	var b [6]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return Office{
		Format: Format, ID: "o-" + hex.EncodeToString(b[:]), Created: now.UTC().Truncate(time.Second),
		MadeWith: tool, PersonCheck: personCheck, Policy: DefaultPolicy(),
	}
}

// DecodeOffice parses postroom.toml.
func DecodeOffice(data []byte) (Office, error) {
	bad := func(key string, err error) (Office, error) {
		return Office{}, &mail.Error{Op: "read " + OfficeFile, Kind: mail.KindCorrupt, Addr: key, Err: err, Hint: "mend that line; the defaults are in docs/spool-format.md §2"}
	}
	o := Office{Policy: DefaultPolicy(), PersonCheck: PersonCheckFull}
	if _, err := toml.Decode(string(data), &o); err != nil {
		return bad("", err)
	}
	if o.Format > Format {
		return Office{}, &mail.Error{Op: "open office", Kind: mail.KindForeign, Hint: "install a newer post",
			Err: errors.New("this office has a newer format than this post understands")}
	}
	if o.Format < 1 || o.ID == "" {
		return bad("format, office", errors.New("missing"))
	}
	switch o.PersonCheck {
	case PersonCheckFull, PersonCheckEnv, PersonCheckOff:
	default:
		return bad("person_check", errors.New("is not env+parents, env or off"))
	}
	if _, err := o.Settings(); err != nil {
		return bad("policy", err)
	}
	return o, nil
}

// Encode renders postroom.toml.
func (o Office) Encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# A Postroom office. See docs/spool-format.md §2; edit only [policy].\n")
	if err := toml.NewEncoder(&b).Encode(o); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Settings turns the [policy] table into what the rules take.
func (o Office) Settings() (policy.Settings, error) {
	p := o.Policy
	s := policy.Settings{
		HopCap: p.HopCap, FuseTurns: p.FuseTurns, FusePerHour: p.FusePerHour,
		CopyAll: p.CopyAll, Orchestrator: p.Orchestrator,
	}
	for _, d := range []struct {
		key  string
		text string
		to   *time.Duration
	}{{"due", p.Due, &s.Due}, {"ask_again", p.AskAgain, &s.AskAgain}} {
		v, err := positive(d.key, d.text)
		if err != nil {
			return s, err
		}
		*d.to = v
	}
	if p.HopCap < 1 || p.FuseTurns < 1 || p.FusePerHour < 1 {
		return s, errors.New("hop_cap, fuse_turns and fuse_per_hour are at least 1")
	}
	for _, d := range [][2]string{{"expire_question", p.ExpireQuestion}, {"undeliverable_after", p.Undeliverable}} {
		if _, err := positive(d[0], d[1]); err != nil {
			return s, err
		}
	}
	if p.Arrow != "→" && p.Arrow != "->" {
		return s, errors.New(`arrow is "→" or "->"`)
	}
	if p.Audit != "none" && p.Audit != "git" {
		return s, errors.New(`audit is "none" or "git"`)
	}
	return s, nil
}

// QuestionExpiry is how long a question waits for a person.
func (o Office) QuestionExpiry() time.Duration {
	d, _ := time.ParseDuration(o.Policy.ExpireQuestion)
	return d
}

// UndeliverableAfter is how long delivery to a broken mailbox is tried.
func (o Office) UndeliverableAfter() time.Duration {
	d, _ := time.ParseDuration(o.Policy.Undeliverable)
	return d
}

func positive(key, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New(key + ` is not a duration such as "90m"`)
	}
	return d, nil
}

// Machine names this machine: a hash of what the system calls itself, so that
// no machine id is copied into an office.
func Machine() string {
	for _, f := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := os.ReadFile(f); err == nil && len(bytes.TrimSpace(b)) > 0 {
			return "m-" + string(mail.DigestOf(bytes.TrimSpace(b)))[:12]
		}
	}
	h, err := os.Hostname()
	if err != nil {
		h = "unknown"
	}
	return "m-" + string(mail.DigestOf([]byte("host:" + h)))[:12]
}

// missing reports whether err says that a file does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
