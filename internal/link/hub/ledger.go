package hub

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	ledgerFile  = "stations.json"
	inviteBytes = 16
	// DefaultExpiry is how long a join line is good for.
	DefaultExpiry = time.Hour
	usedKept      = 24 * time.Hour // an invitation is remembered, so that it can be said why it does not work
)

// ledger is who is in the team, in stations.json. It is written before anybody
// is told.
type ledger struct {
	V        int                `json:"v"`
	Team     string             `json:"team"`
	Addrs    []string           `json:"addrs,omitempty"` // of the newest run: what join lines say
	Stations map[string]*member `json:"stations"`
	Revoked  []outcast          `json:"revoked,omitempty"`
	Invites  []invite           `json:"invites,omitempty"`
}

type member struct {
	Key    string    `json:"key"`            // its user's nkey
	Next   string    `json:"next,omitempty"` // the key that it is changing to
	Joined time.Time `json:"joined"`
}

// outcast is a key that is never let in again.
type outcast struct {
	Station string    `json:"station"`
	Key     string    `json:"key"`
	At      time.Time `json:"at"`
	Mark    string    `json:"mark,omitempty"` // what its card is marked with; "" for a key that was only replaced
	Purge   bool      `json:"purge,omitempty"`
}

// invite is one join line. Its secret is not kept, only a hash.
type invite struct {
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires"`
	Station string    `json:"station,omitempty"` // who used it
	Key     string    `json:"key,omitempty"`
}

func readLedger(fsys vfs.FS) (*ledger, error) {
	l := &ledger{V: 1, Stations: map[string]*member{}}
	data, _, err := spool.ReadFile(fsys, ledgerFile, 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, l)
	}
	if err == nil && (l.V != 1 || l.Stations == nil) {
		err = errors.New("is of another version of postd")
	}
	if err != nil {
		return nil, &mail.Error{Op: "read the hub's stations", Kind: mail.KindCorrupt, Addr: fsys.Path(ledgerFile), Err: err, Hint: "bring it back from a backup"}
	}
	return l, nil
}

// invite makes an invitation and returns its secret.
func (l *ledger) invite(now time.Time, good time.Duration) []byte {
	l.Invites = slices.DeleteFunc(l.Invites, func(i invite) bool { return now.Sub(i.Expires) > usedKept })
	secret := make([]byte, inviteBytes)
	rand.Read(secret)
	l.Invites = append(l.Invites, invite{Hash: hash(secret), Expires: now.Add(good).UTC().Truncate(time.Second)})
	return secret
}

func hash(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}

// revokedKeys are all that the server must refuse.
func (l *ledger) revokedKeys() []string {
	var keys []string
	for _, o := range l.Revoked {
		keys = append(keys, o.Key)
	}
	return keys
}

// join uses an invitation up for a station. Repeated by the same station with
// the same key it changes nothing: its answer may have been lost.
func (l *ledger) join(secret []byte, station, key string, now time.Time) error {
	at := slices.IndexFunc(l.Invites, func(i invite) bool { return i.Hash == hash(secret) })
	if at < 0 {
		return refuse(mail.KindNotFound, "this join line is not one of this hub's, or is long expired", `ask for a new one: "post hub invite"`)
	}
	i, known := &l.Invites[at], l.Stations[station]
	switch {
	case i.Station == station && i.Key == key && known != nil && known.Key == key:
		return nil
	case i.Station != "":
		return refuse(mail.KindConflict, "this join line has been used, by "+i.Station, `each is good for one station; ask for a new one: "post hub invite"`)
	case !now.Before(i.Expires):
		return refuse(mail.KindConflict, "this join line expired at "+i.Expires.Format("2006-01-02 15:04 UTC"), `ask for a new one: "post hub invite"`)
	case known != nil && known.Key != key:
		return refuse(mail.KindConflict, "there is a station "+station+" already", `choose another name with --station, or have that one revoked first: "post link revoke `+station+`"`)
	case slices.Contains(l.revokedKeys(), key):
		return refuse(mail.KindConflict, "this key was revoked", "join with a new one: first run post link leave --forget")
	}
	i.Station, i.Key = station, key
	if known == nil {
		l.Stations[station] = &member{Key: key, Joined: now.UTC().Truncate(time.Second)}
	}
	return nil
}

// refuse is an answer of the hub's: it says no, and what to do.
func refuse(kind mail.Kind, why, hint string) error {
	return &mail.Error{Op: "hub", Kind: kind, Err: errors.New(why), Hint: hint}
}
