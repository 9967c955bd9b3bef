package hub

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// keys are the hub's secrets, in keys.json (0600). They never leave the
// directory: stations make their own.
type keys struct {
	V        int    `json:"v"`
	Operator string `json:"operator"` // nkey seeds
	Account  string `json:"account"`
	System   string `json:"system"`
	Member   string `json:"member"` // signs stations: only their name is theirs
	Guest    string `json:"guest"`  // signs whoever has an invitation to show, and nothing else
	Admin    string `json:"admin"`  // signs this hub's own users
	Control  string `json:"control"`
	TLS      []byte `json:"tls"`  // the private key, PKCS 8; its public half is what join lines pin
	Cert     []byte `json:"cert"` // DER
}

const (
	keysFile         = "keys.json"
	behindEveryClock = 1 << 40 // seconds
)

// readKeys reads the hub's keys, or makes them if there are none.
func readKeys(fsys vfs.FS, now time.Time) (*keys, error) {
	data, _, err := spool.ReadFile(fsys, keysFile, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKeys(fsys, now)
	}
	var k keys
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err == nil && k.V != 1 {
		err = errors.New("is of another version of postd")
	}
	if err != nil {
		return nil, &mail.Error{Op: "read the hub's keys", Kind: mail.KindCorrupt, Addr: fsys.Path(keysFile), Err: err,
			Hint: "bring it back from a backup; with new keys every station has to join again"}
	}
	return &k, nil
}

func makeKeys(fsys vfs.FS, now time.Time) (*keys, error) {
	k := &keys{V: 1}
	for _, p := range []struct {
		seed *string
		make func() (nkeys.KeyPair, error)
	}{{&k.Operator, nkeys.CreateOperator}, {&k.Account, nkeys.CreateAccount}, {&k.System, nkeys.CreateAccount}, {&k.Member, nkeys.CreateAccount},
		{&k.Guest, nkeys.CreateAccount}, {&k.Admin, nkeys.CreateAccount}, {&k.Control, nkeys.CreateUser}} {
		kp, err := p.make()
		if err != nil {
			return nil, err
		}
		seed, err := kp.Seed()
		if err != nil {
			return nil, err
		}
		*p.seed = string(seed)
	}
	if err := k.makeCertificate(now); err != nil {
		return nil, err
	}
	return k, save(fsys, keysFile, k)
}

// save writes one state file, durably.
func save(fsys vfs.FS, name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = spool.Replace(fsys, ".", name, append(data, '\n'))
	}
	if err == nil {
		err = fsys.SyncDir(".")
	}
	if err != nil {
		return &mail.Error{Op: "keep the hub's state", Kind: mail.KindStore, Addr: fsys.Path(name), Err: err, Hint: "make room, or set its permissions right"}
	}
	return nil
}

// pair is the key pair of a seed of ours.
func pair(seed string) (nkeys.KeyPair, string, error) {
	kp, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, "", err
	}
	pub, err := kp.PublicKey()
	return kp, pub, err
}

// operator makes the claim that the server trusts.
func (k *keys) operator(team string) (*jwt.OperatorClaims, error) {
	kp, pub, err := pair(k.Operator)
	if err != nil {
		return nil, err
	}
	_, system, err := pair(k.System)
	if err != nil {
		return nil, err
	}
	claims := jwt.NewOperatorClaims(pub)
	claims.Name, claims.SystemAccount = "postroom "+team, system
	token, err := claims.Encode(kp)
	if err != nil {
		return nil, err
	}
	return jwt.DecodeOperatorClaims(token)
}

// sign makes an account's claim the operator's.
func (k *keys) sign(claims *jwt.AccountClaims) (token string, err error) {
	kp, _, err := pair(k.Operator)
	if err != nil {
		return "", err
	}
	return claims.Encode(kp)
}

// systemAccount is the server's own; it has no users.
func (k *keys) systemAccount() (*jwt.AccountClaims, error) {
	_, pub, err := pair(k.System)
	if err != nil {
		return nil, err
	}
	claims := jwt.NewAccountClaims(pub)
	claims.Name = "SYS"
	return claims, nil
}

// account is the team's account: what its users may do, and who is out.
func (k *keys) account(team natslink.Team, revoked []string) (*jwt.AccountClaims, error) {
	_, pub, err := pair(k.Account)
	if err != nil {
		return nil, err
	}
	claims := jwt.NewAccountClaims(pub)
	claims.Name = string(team)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	for _, role := range []struct {
		name, seed string
		may        jwt.UserPermissionLimits
	}{{"station", k.Member, memberMay(team)}, {"guest", k.Guest, guestMay(team)}, {"hub", k.Admin, adminMay()}} {
		_, signer, err := pair(role.seed)
		if err != nil {
			return nil, err
		}
		scope := jwt.NewUserScope()
		scope.Key, scope.Role, scope.Template = signer, role.name, role.may
		claims.SigningKeys.AddScopedSigner(scope)
	}
	for _, key := range revoked {
		claims.RevokeAt(key, time.Unix(behindEveryClock, 0)) // never let in again, whenever its JWT was made
	}
	return claims, nil
}

// user makes the JWT of one user, signed by a role's key: only the name is his.
func (k *keys) user(roleSeed, name, key string) (string, error) {
	signer, _, err := pair(roleSeed)
	if err != nil {
		return "", err
	}
	_, account, err := pair(k.Account)
	if err != nil {
		return "", err
	}
	claims := jwt.NewUserClaims(key)
	claims.Name, claims.IssuerAccount = name, account
	claims.SetScoped(true)
	return claims.Encode(signer)
}
