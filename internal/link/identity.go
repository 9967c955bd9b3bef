package link

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/station"
	"github.com/postroom/postroom/internal/vfs"
)

// The files of a station's identity, in link/.
const (
	identityFile = "station.json"
	seedFile     = "seed"
	curveFile    = "curve"
	UserJWT      = "user.jwt" // what the hub lets this station in with
)

// Modes of being linked.
const (
	ModeHub  = "hub"  // a hub of ours: join lines, user JWT
	ModeNATS = "nats" // somebody's server or cluster, with a credentials file
)

// Identity says who this station is and where its hub is. It holds no secret.
type Identity struct {
	V       int       `json:"v"`
	Office  string    `json:"office"` // whose station this is: a fork of the office is another
	Team    string    `json:"team"`
	Station string    `json:"station"`
	Mode    string    `json:"mode"`
	URLs    []string  `json:"urls"`
	Pin     string    `json:"pin,omitempty"`   // SHA-256 of the hub's public key, ModeHub
	Creds   string    `json:"creds,omitempty"` // path of the credentials file, ModeNATS
	Seal    bool      `json:"seal,omitempty"`  // bodies are sealed, so the hub cannot read them
	Joined  time.Time `json:"joined"`
}

// LoadIdentity reads an office's identity on the link. KindNotFound: it is not
// linked. KindForeign: the identity is another office's, as after a fork.
func LoadIdentity(fsys vfs.FS, office string) (Identity, error) {
	var id Identity
	data, _, err := spool.ReadFile(fsys, station.Dir+"/"+identityFile, 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return id, notLinked()
	}
	if err == nil {
		err = json.Unmarshal(data, &id)
	}
	switch {
	case err != nil:
		return id, &mail.Error{Op: "read link", Kind: mail.KindCorrupt, Addr: station.Dir + "/" + identityFile, Err: err, Hint: "join again: post link leave, post link join"}
	case id.V != 1:
		return id, &mail.Error{Op: "read link", Kind: mail.KindForeign, Addr: station.Dir + "/" + identityFile,
			Err: errors.New("it was written by a newer postroom"), Hint: "update this one"}
	case id.Office != office:
		return id, &mail.Error{Op: "read link", Kind: mail.KindForeign, Addr: station.Dir + "/" + identityFile,
			Err:  errors.New("these keys are the station " + id.Station + "'s, of the office " + id.Office + "; this office is " + office),
			Hint: "join as a station of its own: post link leave --forget, post link join"}
	}
	return id, nil
}

func notLinked() error {
	return &mail.Error{Op: "read link", Kind: mail.KindNotFound, Addr: "link",
		Err: errors.New("this office is not linked to any other"), Hint: "start a hub with post hub, or join one: post link join"}
}

// CheckLinked is one look for who waits for a link: KindNotFound, as LoadIdentity
// says it.
func CheckLinked(fsys vfs.FS) error {
	if _, err := fsys.Lstat(station.Dir + "/" + identityFile); errors.Is(err, fs.ErrNotExist) {
		return notLinked()
	}
	return nil
}

// SaveIdentity writes it, with what the hub issued (jwt, "" in ModeNATS) beside
// it. The keys are there already.
func SaveIdentity(fsys vfs.FS, id Identity, jwt string) error {
	id.V = 1
	if err := makeDir(fsys, station.Dir); err != nil {
		return err
	}
	if jwt != "" {
		if err := replaceDurably(fsys, station.Dir, UserJWT, []byte(jwt+"\n")); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return err
	}
	return replaceDurably(fsys, station.Dir, identityFile, append(data, '\n'))
}

// ReadJWT returns what the hub issued.
func ReadJWT(fsys vfs.FS) (string, error) {
	data, _, err := spool.ReadFile(fsys, station.Dir+"/"+UserJWT, 64<<10)
	return string(trim(data)), err
}

// ForgetIdentity ends being linked: identity and keys go, the ledgers stay, as a
// record of what was carried.
func ForgetIdentity(fsys vfs.FS) error {
	for _, name := range []string{identityFile, UserJWT, seedFile, curveFile, rotatedFile} {
		if err := fsys.Remove(station.Dir + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fsys.SyncDir(station.Dir)
}

// Keys are a station's secrets: what it signs with, which is also who it is to
// the hub, and what others seal for.
type Keys struct {
	Sign  nkeys.KeyPair // user nkey (ed25519)
	Curve nkeys.KeyPair // xkey (X25519)
}

// OpenKeys reads the station's keys, or makes them.
func OpenKeys(fsys vfs.FS) (Keys, error) {
	if err := makeDir(fsys, station.Dir); err != nil {
		return Keys{}, err
	}
	sign, err := openKey(fsys, seedFile, nkeys.CreateUser)
	if err != nil {
		return Keys{}, err
	}
	curve, err := openKey(fsys, curveFile, nkeys.CreateCurveKeys)
	return Keys{sign, curve}, err
}

// rotatedFile has the keys before, each vouching for the next.
const rotatedFile = "rotated.json"

// rotationsKept bounds it: a station that was away for more has to trust anew.
const rotationsKept = 20

// ReplaceSign makes seed the key that the station signs with from now on. The
// one before vouches for it, so that others take it without being asked.
func ReplaceSign(fsys vfs.FS, seed []byte) error {
	keys, err := OpenKeys(fsys)
	if err != nil {
		return err
	}
	next, err := nkeys.FromSeed(seed)
	if err != nil {
		return err
	}
	public, err := next.PublicKey()
	if err != nil {
		return err
	}
	r, err := vouch(keys.Sign, public)
	if err != nil {
		return err
	}
	chain, err := readRotated(fsys)
	if err != nil {
		return err
	}
	chain = append(chain, r)
	data, err := json.Marshal(chain[max(0, len(chain)-rotationsKept):])
	if err != nil {
		return err
	}
	if err := replaceDurably(fsys, station.Dir, rotatedFile, append(data, '\n')); err != nil {
		return err
	}
	return replaceDurably(fsys, station.Dir, seedFile, append(seed, '\n'))
}

// readRotated reads the chain. What leads to a key that was never taken up is
// harmless: nobody has it.
func readRotated(fsys vfs.FS) (chain []Rotated, err error) {
	data, _, err := spool.ReadFile(fsys, station.Dir+"/"+rotatedFile, 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &chain)
	}
	return chain, err
}

func openKey(fsys vfs.FS, name string, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, error) {
	path := station.Dir + "/" + name
	data, _, err := spool.ReadFile(fsys, path, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err := create()
		if err != nil {
			return nil, err
		}
		seed, err := pair.Seed()
		if err != nil {
			return nil, err
		}
		return pair, replaceDurably(fsys, station.Dir, name, append(seed, '\n'))
	}
	if err != nil {
		return nil, err
	}
	pair, err := nkeys.FromSeed(trim(data))
	if err != nil { // a curve seed is another kind to the library
		pair, err = nkeys.FromCurveSeed(trim(data))
	}
	if err != nil {
		return nil, &mail.Error{Op: "read key", Kind: mail.KindCorrupt, Addr: path, Err: err, Hint: "join again: post link leave, post link join"}
	}
	return pair, nil
}

// Fingerprint shows a public key so that people can compare it: its last 16
// characters in fours.
func Fingerprint(public string) string {
	tail := public[max(0, len(public)-16):]
	out := ""
	for i := 0; i < len(tail); i += 4 {
		if i > 0 {
			out += "-"
		}
		out += tail[i:min(i+4, len(tail))]
	}
	return out
}
