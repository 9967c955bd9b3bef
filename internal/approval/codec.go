package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/postroom/postroom/internal/mail"
)

// fields are the names of the fields that an approval file of Version knows.
func fields() []string {
	return []string{
		"v", "id", "kind", "message", "cause", "digest", "asker", "asker_aid",
		"addressed_to", "conversation", "subject", "body", "options", "why",
		"chain", "fuse", "fuse_agent", "ask_key", "created", "expires",
	}
}

// plain has the fields of Approval without its methods.
type plain Approval

// MarshalJSON writes the known fields in their fixed order, then Extra sorted
// by name. A known field is never overridden by Extra.
func (a Approval) MarshalJSON() ([]byte, error) {
	b, err := encode(plain(a))
	if err != nil {
		return nil, err
	}
	known := fields()
	b = b[:len(b)-1]
	for _, name := range slices.Sorted(maps.Keys(a.Extra)) {
		if slices.Contains(known, name) {
			continue
		}
		key, err := encode(name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, ','), key...), ':'), a.Extra[name]...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads an approval; names count only as spelt in fields, all
// others go to Extra.
func (a *Approval) UnmarshalJSON(data []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	if all == nil {
		return errors.New("not an object")
	}
	known := make(map[string]json.RawMessage, len(all))
	for _, name := range fields() {
		if v, ok := all[name]; ok {
			known[name] = v
			delete(all, name)
		}
	}
	b, err := json.Marshal(known)
	if err != nil {
		return err
	}
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*a = Approval(p)
	if len(all) > 0 {
		a.Extra = all
	}
	return nil
}

// encode is json.Marshal without HTML escaping and without a final newline.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// file renders v as a file that a person can read too.
func file(v any) ([]byte, error) {
	b, err := encode(v)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err := json.Indent(&buf, b, "", "  "); err != nil {
		return nil, err
	}
	buf.WriteByte('\n')
	return buf.Bytes(), nil
}

// parseOpen reads the file of the open approval id.
func parseOpen(id string, b []byte) (*Approval, error) {
	var a Approval
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, corrupt(id, err)
	}
	return &a, a.verify(id)
}

// parseClosed reads the file of the decided approval id.
func parseClosed(id string, b []byte) (*Closed, error) {
	var c Closed
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, corrupt(id, err)
	}
	if err := c.Approval.verify(id); err != nil {
		return nil, err
	}
	switch c.Decision.Verdict {
	case VerdictAllowed, VerdictRejected, VerdictAnswered, VerdictRead, VerdictExpired:
		return &c, nil
	}
	return nil, corrupt(id, fmt.Errorf("unknown verdict %s", quote(string(c.Decision.Verdict))))
}

// verify checks that a is what the file of id may hold.
func (a *Approval) verify(id string) error {
	if a.V > Version {
		return &mail.Error{Op: "read approval", Kind: mail.KindForeign, Addr: id,
			Err: fmt.Errorf("format %d is newer than this tool", a.V), Hint: "update post"}
	}
	if a.V != Version {
		return corrupt(id, fmt.Errorf("format %d", a.V))
	}
	if a.ID != id {
		return corrupt(id, fmt.Errorf("the file holds %s", quote(a.ID)))
	}
	if what := a.check(); what != "" {
		return corrupt(id, errors.New(what))
	}
	return nil
}

func corrupt(id string, err error) error {
	return &mail.Error{Op: "read approval", Kind: mail.KindCorrupt, Addr: id, Err: err,
		Hint: `run "post doctor"`}
}

func quote(s string) string { return strconv.QuoteToASCII(s) }
