package mail

import (
	"bytes"
	"strconv"
	"time"
)

// Traffic is what the fuse needs of one index line (design §7.3).
type Traffic struct {
	From         string
	Conversation string
	Turns, Chain int
	Since        time.Time
}

// ParseTraffic reads the fuse's fields from one index line without parsing the
// rest of it, because every send looks at some hundred lines. No text can
// pretend to be a field: inside a JSON string its quotes are escaped. ok is
// false for a line that is none.
func ParseTraffic(line []byte) (t Traffic, ok bool) {
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' {
		return t, false
	}
	from, ok := rawField(line, `,"from":"`)
	if !ok {
		return t, false
	}
	conversation, _ := rawField(line, `,"conversation":"`)
	t.From, t.Conversation = string(from), string(conversation)
	t.Turns, t.Chain = numberField(line, `,"turns":`), numberField(line, `,"chain":`)
	if since, ok := rawField(line, `,"since":"`); ok {
		if at, err := time.Parse(time.RFC3339, string(since)); err == nil {
			t.Since = at.UTC()
		}
	}
	return t, true
}

// rawField is a string field without escapes: names, ids and times have none.
func rawField(line []byte, key string) ([]byte, bool) {
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return nil, false
	}
	rest := line[i+len(key):]
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return nil, false
	}
	return rest[:end], true
}

func numberField(line []byte, key string) int {
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return 0
	}
	rest := line[i+len(key):]
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(string(rest[:end])) // too large a number counts for none
	return n
}
