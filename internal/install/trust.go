package install

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// TrustKey is how Codex knows one of our hooks: by the file, the event and its
// place there, and by what it would run.
type TrustKey struct {
	Key  string // "…/hooks.json:session_start:0:0"
	Hash string // what Codex has to have recorded; "" if it cannot be told
}

// trustMark begins, in what an installation made, the key of a hook that was
// trusted by it.
const trustMark = "trust\n"

// TrustMade is what to remember of keys that an installation had trusted.
func TrustMade(keys []string) []string {
	var made []string
	for _, k := range keys {
		made = append(made, trustMark+k)
	}
	return made
}

// trustKey computes what Codex computes (0.171): the SHA-256 of the hook as
// JSON with its keys sorted.
func trustKey(d *jsonDoc, path string, f found) TrustKey {
	label := snake(f.event)
	k := TrustKey{Key: path + ":" + label + ":" + strconv.Itoa(f.group) + ":" + strconv.Itoa(f.item)}
	group := d.at("hooks", f.event).items[f.group]
	one := group.get("hooks").items[f.item]
	timeout := one.get("timeout")
	if len(group.keys) != 1 || len(one.keys) != 3 || timeout == nil {
		return k // somebody made more of it
	}
	seconds, err := strconv.Atoi(string(d.data[timeout.start:timeout.end]))
	if err != nil {
		return k
	}
	w := jsonWriter{flat: true}
	w.value(obj{{"event_name", label}, {"hooks", []any{obj{
		{"async", false}, {"command", d.text(f.command)}, {"timeout", seconds}, {"type", "command"},
	}}}}, "")
	sum := sha256.Sum256([]byte(w.b.String()))
	k.Hash = "sha256:" + hex.EncodeToString(sum[:])
	return k
}

// snake turns SessionStart into session_start.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Untrusted lists the keys for which Codex's config.toml records no trust, or
// that of another hook. Codex skips those, silently in "codex exec".
func Untrusted(path string, config []byte, keys []TrustKey) ([]TrustKey, error) {
	d, err := openTOML(path, config)
	if err != nil {
		return nil, err
	}
	var out []TrustKey
	for _, k := range keys {
		hash, ok := d.value("hooks", "state", k.Key, "trusted_hash")
		off, _ := d.value("hooks", "state", k.Key, "enabled")
		disabled := off.end > 0 && string(d.data[off.start:off.end]) == "false"
		if !ok || disabled || k.Hash != "" && hash.text != k.Hash {
			out = append(out, k)
		}
	}
	return out, nil
}
