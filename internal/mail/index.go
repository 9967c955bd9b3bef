package mail

import (
	"bytes"
	"iter"
	"strconv"
	"time"
)

// IndexLine is one delivery in a mailbox's index.jsonl. The sequence number is
// the order of the inbox (design §5, spool-format.md §6).
type IndexLine struct {
	Seq          uint64
	ID           ID
	Digest       Digest // of the file as delivered
	From         string
	Act          string
	Subject      string
	Conversation string
	As           string    // AsTo, AsCC or AsAll
	Turns        int       // how often the word had passed in the conversation (design §7.3)
	Chain        int       // the same in any conversation, since Since
	Since        time.Time // UTC, to the millisecond; zero if there is no chain
}

// The roles in which a mailbox gets a message.
const (
	AsTo  = "to"
	AsCC  = "cc"
	AsAll = "all"
)

const indexLineMax = 2 * MaxSize

// AppendLine appends the line with its line feed. Text that is not UTF-8 is
// made so.
func (l IndexLine) AppendLine(dst []byte) []byte {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, l.Seq, 10)
	for _, f := range [...]struct{ key, text string }{
		{`,"id":`, string(l.ID)},
		{`,"digest":`, string(l.Digest)},
		{`,"from":`, l.From},
		{`,"act":`, l.Act},
		{`,"subject":`, l.Subject},
		{`,"conversation":`, l.Conversation},
		{`,"as":`, l.As},
	} {
		dst = append(dst, f.key...)
		dst = appendString(dst, validText(f.text))
	}
	if l.Turns > 0 {
		dst = appendInt(append(dst, `,"turns":`...), l.Turns)
	}
	if l.Chain > 0 {
		dst = appendInt(append(dst, `,"chain":`...), l.Chain)
	}
	if !l.Since.IsZero() {
		dst = appendTime(append(dst, `,"since":`...), l.Since)
	}
	return append(dst, '}', '\n')
}

// ParseIndexLine reads one line, with or without its line feed. Fields it does
// not know are passed over. The error is KindCorrupt.
func ParseIndexLine(data []byte) (IndexLine, error) {
	var x IndexLine
	l, err := newLine("read index", data, indexLineMax)
	if err != nil {
		return x, err
	}
	var id, digest, since string
	err = l.each(func(key string, v value) (f *fault) {
		switch key {
		case "seq":
			x.Seq, f = l.s.number64(v)
		case "id":
			f = l.string(v, &id)
		case "digest":
			f = l.string(v, &digest)
		case "from":
			f = l.string(v, &x.From)
		case "act":
			f = l.string(v, &x.Act)
		case "subject":
			f = l.string(v, &x.Subject)
		case "conversation":
			f = l.string(v, &x.Conversation)
		case "as":
			f = l.string(v, &x.As)
		case "turns":
			f = l.int(v, &x.Turns)
		case "chain":
			f = l.int(v, &x.Chain)
		case "since":
			f = l.string(v, &since)
		}
		return f
	})
	if err != nil {
		return IndexLine{}, err
	}
	x.ID, x.Digest = ID(id), Digest(digest)
	if t, terr := time.Parse(time.RFC3339, since); terr == nil && isStampTime(t) {
		x.Since = t.UTC().Truncate(time.Millisecond) // a chain without a beginning counts for nothing
	}
	if fault := x.fault(); fault != "" {
		return IndexLine{}, l.bad(fault)
	}
	return x, nil
}

func (l IndexLine) fault() string {
	switch {
	case !l.ID.Valid():
		return "id is no message id"
	case !l.Digest.Valid():
		return "digest is no SHA-256 in hex"
	case l.As != AsTo && l.As != AsCC && l.As != AsAll:
		return "as is none of to, cc, all"
	}
	return ""
}

// LinesBackward yields the whole lines at the end of a JSON Lines file, last
// first, each without its line feed; empty ones are passed over. tail is the
// end of the file; atStart says that it is all of it. What follows the last
// line feed is torn and never yielded; nor is the first line of a tail that may
// have begun in its middle. offset is the line's place in tail.
func LinesBackward(tail []byte, atStart bool) iter.Seq2[int, []byte] {
	return func(yield func(offset int, line []byte) bool) {
		end := bytes.LastIndexByte(tail, '\n')
		for end >= 0 {
			start := bytes.LastIndexByte(tail[:end], '\n') + 1
			if start == 0 && !atStart {
				return
			}
			if start < end && !yield(start, tail[start:end]) {
				return
			}
			end = start - 1
		}
	}
}
