package journal

import (
	"slices"
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/plain"
)

// appendPlain appends the line of r, as encoding/json would; false: r holds
// something for encoding/json itself.
func appendPlain(dst []byte, r *Record) ([]byte, bool) {
	if y := r.At.Year(); y < 1 || y > 9999 || r.At.Location() != time.UTC {
		return dst, false
	}
	w := plain.Writer{Bytes: append(dst, `{"n":`...)}
	w.Bytes = strconv.AppendUint(w.Bytes, r.N, 10)
	w.Raw(`,"at":"`)
	w.Bytes = r.At.AppendFormat(w.Bytes, time.RFC3339Nano)
	w.Text(`","event":`, r.Event)
	w.Some(`,"id":`, string(r.ID))
	w.Some(`,"agent":`, r.Agent)
	w.Some(`,"aid":`, r.AID)
	if r.Seq != 0 {
		w.Raw(`,"seq":`)
		w.Bytes = strconv.AppendUint(w.Bytes, r.Seq, 10)
	}
	w.Some(`,"digest":`, string(r.Digest))
	w.Some(`,"as":`, r.As)
	w.Some(`,"from":`, r.From)
	w.Some(`,"act":`, r.Act)
	w.Some(`,"conversation":`, r.Conversation)
	w.Some(`,"file":`, r.File)
	if r.Offset != 0 {
		w.Number(`,"offset":`, r.Offset)
	}
	if r.Length != 0 {
		w.Number(`,"length":`, r.Length)
	}
	appendDetail(&w, r.Detail)
	w.Text(`,"prev":`, r.Prev)
	w.Raw("}\n")
	if w.Bad {
		return dst, false
	}
	return w.Bytes, true
}

func appendDetail(w *plain.Writer, detail map[string]string) {
	if len(detail) == 0 {
		return
	}
	keys := make([]string, 0, 8)
	for k := range detail {
		w.Bad = w.Bad || !plain.Text(k)
		keys = append(keys, k)
	}
	slices.Sort(keys)
	w.Raw(`,"detail":{"`)
	for i, k := range keys {
		if i > 0 {
			w.Raw(`,"`)
		}
		w.Raw(k)
		w.Text(`":`, detail[k])
	}
	w.Raw("}")
}

// parsePlain reads a line that appendPlain may have written; false: it is
// another.
func parsePlain(line []byte) (r Record, ok bool) {
	c := plain.Cutter{Rest: string(line)}
	c.Must(`{"n":`)
	r.N = c.Number()
	c.Must(`,"at":"`)
	c.Bad = r.At.UnmarshalText([]byte(c.Text())) != nil || c.Bad
	c.Must(`,"event":"`)
	r.Event = c.Text()
	for _, f := range [...]struct {
		key string
		to  *string
	}{{`,"id":"`, (*string)(&r.ID)}, {`,"agent":"`, &r.Agent}, {`,"aid":"`, &r.AID}} {
		*f.to = c.Some(f.key)
	}
	if c.After(`,"seq":`) {
		r.Seq = c.Number()
	}
	for _, f := range [...]struct {
		key string
		to  *string
	}{{`,"digest":"`, (*string)(&r.Digest)}, {`,"as":"`, &r.As}, {`,"from":"`, &r.From}, {`,"act":"`, &r.Act},
		{`,"conversation":"`, &r.Conversation}, {`,"file":"`, &r.File}} {
		*f.to = c.Some(f.key)
	}
	if c.After(`,"offset":`) {
		r.Offset = int64(c.Number())
	}
	if c.After(`,"length":`) {
		r.Length = int64(c.Number())
	}
	if c.After(`,"detail":{"`) {
		r.Detail = cutDetail(&c)
	}
	c.Must(`,"prev":"`)
	r.Prev = c.Text()
	c.Must("}")
	return r, !c.Bad && c.Rest == ""
}

// cutDetail takes off the members of an object, of which the brace and the first
// quote are gone.
func cutDetail(c *plain.Cutter) map[string]string {
	m := map[string]string{}
	for !c.Bad {
		k := c.Text()
		c.Must(`:"`)
		if _, twice := m[k]; twice {
			c.Bad = true
		}
		if m[k] = c.Text(); !c.After(`,"`) {
			break
		}
	}
	c.Must("}")
	return m
}
