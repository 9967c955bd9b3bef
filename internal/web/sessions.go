package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

const (
	// linkLife is how long a one-time link may wait to be opened.
	linkLife = 5 * time.Minute
	// sessionLife is how long a browser stays let in.
	sessionLife = 30 * 24 * time.Hour
)

// sessions keeps who was let in, in the user's state directory: one file for
// each one-time link that waits and for each session. The names of the files are
// digests, so that who can only read them cannot come in. Removing a file is
// what uses a link: it succeeds once.
type sessions struct {
	dir string
	now func() time.Time
}

// pass is what such a file holds.
type pass struct {
	Host    string    `json:"host,omitempty"` // digest of the name that the browser must ask by; "" any
	Expires time.Time `json:"expires"`
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (s sessions) path(kind, secret string) string {
	return filepath.Join(s.dir, kind+"-"+digest(secret)+".json")
}

// Link makes the secret of a one-time link for a browser that will ask by host
// ("" for any).
func Link(stateDir, host string, now time.Time) (once string, err error) {
	s := sessions{dir: stateDir, now: func() time.Time { return now }}
	s.sweep()
	return s.issue("once", host, linkLife)
}

func (s sessions) issue(kind, host string, life time.Duration) (secret string, err error) {
	secret = rand.Text()
	p := pass{Expires: s.now().UTC().Add(life)}
	if host != "" {
		p.Host = digest(strings.ToLower(host))
	}
	data, err := json.Marshal(p)
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err == nil {
		err = writeNew(s.path(kind, secret), append(data, '\n'))
	}
	if err != nil {
		return "", &mail.Error{Op: "let a browser in", Kind: mail.KindStore, Addr: s.dir, Err: err, Hint: "make that directory writable for you"}
	}
	return secret, nil
}

func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// look reads the pass of a secret that is good for host now.
func (s sessions) look(kind, secret, host string) (pass, bool) {
	if secret == "" || len(secret) > 64 {
		return pass{}, false
	}
	data, err := os.ReadFile(s.path(kind, secret))
	var p pass
	if err != nil || json.Unmarshal(data, &p) != nil || !s.now().Before(p.Expires) {
		return pass{}, false
	}
	return p, p.Host == "" || p.Host == digest(strings.ToLower(host))
}

// redeem uses a one-time secret and gives the secret of a session.
func (s sessions) redeem(once, host string) (session string, ok bool, err error) {
	p, ok := s.look("once", once, host)
	if !ok {
		return "", false, nil
	}
	if err := os.Remove(s.path("once", once)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", false, nil // somebody else was first
		}
		return "", false, &mail.Error{Op: "use the link", Kind: mail.KindStore, Addr: s.dir, Err: err, Hint: "make that directory writable for you"}
	}
	if p.Host == "" {
		host = ""
	}
	session, err = s.issue("session", host, sessionLife)
	return session, err == nil, err
}

// end ends a session.
func (s sessions) end(session string) { os.Remove(s.path("session", session)) }

// Revoke ends all sessions and links of an office's page.
func Revoke(stateDir string) (n int, err error) {
	files, err := filepath.Glob(filepath.Join(stateDir, "*.json"))
	for _, f := range files {
		if rerr := os.Remove(f); rerr == nil {
			n++
		} else {
			err = errors.Join(err, rerr)
		}
	}
	return n, err
}

// sweep removes what has run out.
func (s sessions) sweep() {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.json"))
	for _, f := range files {
		data, err := os.ReadFile(f)
		var p pass
		if err == nil && json.Unmarshal(data, &p) == nil && !s.now().Before(p.Expires) {
			os.Remove(f)
		}
	}
}

// formToken is what a session's forms carry: only a page of ours can know it.
func formToken(session string) string {
	h := hmac.New(sha256.New, []byte(session))
	h.Write([]byte("postroom form"))
	return hex.EncodeToString(h.Sum(nil))
}
