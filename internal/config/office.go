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
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
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
	Format      int
	ID          string
	Name        string // for people; decides nothing
	Station     string // the office's own name on the link; "" if it is not linked
	Machine     string // where the directory was made
	Inode       uint64 // the directory's own inode there
	Created     time.Time
	MadeWith    string
	PersonCheck string
	Policy      Policy
	Person      Person
	// Unknown lists keys that this version does not know.
	Unknown []string
}

// Policy is the [policy] table. Durations are Go durations ("90m").
type Policy struct {
	HopCap         int
	FuseTurns      int
	FusePerHour    int
	Due            string
	ExpireQuestion string
	AskAgain       string
	Undeliverable  string
	CopyAll        string
	Orchestrator   string
	Arrow          string
	Audit          string
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
		at := OfficeFile // every line that says this error names the file
		if key != "" {
			at += ": " + key
		}
		return Office{}, &mail.Error{Op: "read settings", Kind: mail.KindCorrupt, Addr: at, Err: err, Hint: "mend that line; the defaults are in docs/spool-format.md §2"}
	}
	o := Office{Policy: DefaultPolicy(), PersonCheck: PersonCheckFull}
	settings, err := parseTOML(data)
	if err != nil {
		return bad("", err)
	}
	if err := o.assign(settings); err != nil {
		return bad("", err)
	}
	if o.Format > Format {
		return Office{}, &mail.Error{Op: "open office", Kind: mail.KindForeign, Hint: "install a newer post",
			Err: errors.New("this office has a newer format than this post understands")}
	}
	if o.Format < 1 || o.ID == "" {
		return bad("format, office", errors.New("missing"))
	}
	if o.Station != "" {
		if _, err := mail.ParseStation(o.Station); err != nil {
			return bad("station", err)
		}
	}
	switch o.PersonCheck {
	case PersonCheckFull, PersonCheckEnv, PersonCheckOff:
	default:
		return bad("person_check", errors.New("is not env+parents, env or off"))
	}
	if _, err := o.Settings(); err != nil {
		return bad("policy", err)
	}
	if err := o.Person.Check(); err != nil {
		return bad(personTable, err)
	}
	return o, nil
}

// keys are the places of the settings, in the order of the file.
func (o *Office) keys() []struct {
	key string
	to  any
} {
	p, h := &o.Policy, &o.Person
	return []struct {
		key string
		to  any
	}{
		{"format", &o.Format}, {"office", &o.ID}, {"name", &o.Name}, {"station", &o.Station}, {"machine", &o.Machine}, {"inode", &o.Inode},
		{"created", &o.Created}, {"made_with", &o.MadeWith}, {"person_check", &o.PersonCheck},
		{"policy.hop_cap", &p.HopCap}, {"policy.fuse_turns", &p.FuseTurns}, {"policy.fuse_per_hour", &p.FusePerHour},
		{"policy.due", &p.Due}, {"policy.expire_question", &p.ExpireQuestion}, {"policy.ask_again", &p.AskAgain},
		{"policy.undeliverable_after", &p.Undeliverable}, {"policy.copy_all", &p.CopyAll},
		{"policy.orchestrator", &p.Orchestrator}, {"policy.arrow", &p.Arrow}, {"policy.audit", &p.Audit},
		{"person.notify", &h.Notify}, {"person.quiet", &h.Quiet}, {"person.remind_after", &h.RemindAfter}, {"person.show", &h.Show},
	}
}

// assign puts settings where they belong. A key that this version does not know
// is kept in Unknown, for the doctor: it may be a later version's, or a slip.
func (o *Office) assign(settings []setting) error {
	known := o.keys()
	for _, s := range settings {
		var to any
		for i := range known { // two dozen: a table of them would cost each start more
			if known[i].key == s.key {
				to = known[i].to
			}
		}
		ok := true
		switch p := to.(type) {
		case nil:
			o.Unknown = append(o.Unknown, s.key)
		case *string:
			*p, ok = s.value.(string)
		case *[][]string:
			*p, ok = adapters(s.value)
		case *time.Time:
			*p, ok = s.value.(time.Time)
		case *int:
			var n int64
			n, ok = s.value.(int64)
			*p, ok = int(n), ok && n >= 0 && n <= 1<<31
		case *uint64:
			var n int64
			n, ok = s.value.(int64)
			*p, ok = uint64(n), ok && n >= 0
		}
		if !ok {
			return fmt.Errorf("line %d: %s has a value of the wrong kind", s.line, s.key)
		}
	}
	return nil
}

// Encode renders postroom.toml.
func (o Office) Encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# A Postroom office. See docs/spool-format.md §2; edit only [policy] and [person].\n")
	table := ""
	for _, k := range o.keys() {
		if strings.HasPrefix(k.key, personTable+".") {
			continue // as a whole, below
		}
		name := k.key
		if t, rest, ok := strings.Cut(k.key, "."); ok {
			if name = rest; t != table {
				fmt.Fprintf(&b, "\n[%s]\n", t)
				table = t
			}
		}
		switch v := k.to.(type) {
		case *string:
			if *v != "" || name != "name" && name != "station" {
				fmt.Fprintf(&b, "%s = %s\n", name, quoteTOML(*v))
			}
		case *time.Time:
			fmt.Fprintf(&b, "%s = %s\n", name, v.UTC().Format(time.RFC3339))
		case *int:
			fmt.Fprintf(&b, "%s = %d\n", name, *v)
		case *uint64:
			fmt.Fprintf(&b, "%s = %d\n", name, *v)
		}
	}
	if text := o.Person.encode(); text != "" {
		b.WriteString("\n" + text)
	}
	return b.Bytes(), nil
}

// Settings turns the [policy] table into what the rules take.
func (o Office) Settings() (policy.Settings, error) {
	p := o.Policy
	s := policy.Settings{
		HopCap: p.HopCap, FuseTurns: p.FuseTurns, FusePerHour: p.FusePerHour,
		CopyAll: p.CopyAll, Orchestrator: p.Orchestrator, Station: o.Station,
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
		if b, err := vfs.ReadSystem(f, 4<<10); err == nil && len(bytes.TrimSpace(b)) > 0 {
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
