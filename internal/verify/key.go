package verify

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// key is a message id in 12 bytes: milliseconds, counter, tag.
type key [12]byte

func keyOf(id mail.ID) (k key, ok bool) {
	if !id.Valid() {
		return k, false
	}
	tag, err := strconv.ParseUint(id.Tag(), 16, 32)
	if err != nil {
		return k, false
	}
	binary.BigEndian.PutUint64(k[:8], uint64(id.Time().UnixMilli())<<16|uint64(id.Counter()))
	binary.BigEndian.PutUint32(k[8:], uint32(tag))
	return k, true
}

// id writes the key as the id that it was.
func (k key) id() mail.ID {
	stem := binary.BigEndian.Uint64(k[:8])
	t := time.UnixMilli(int64(stem >> 16)).UTC()
	return mail.ID(fmt.Sprintf("%s-%03dZ-%04d-%08x", t.Format("2006-01-02T15-04-05"),
		t.Nanosecond()/int(time.Millisecond), stem&0xffff, binary.BigEndian.Uint32(k[8:])))
}

func (k key) hash() uint32 {
	h := binary.BigEndian.Uint64(k[:8])*0x9e3779b97f4a7c15 ^ uint64(binary.BigEndian.Uint32(k[8:]))*0xff51afd7ed558ccd
	return uint32(h>>32) ^ uint32(h)
}
