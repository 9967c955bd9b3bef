package mail

import (
	"bytes"
	"strconv"
)

// The decoders below turn one scanned value into a Go value. Their faults name
// what stands there and what should.

// text decodes a string.
func (s *scanner) text(v value) (string, *fault) {
	if s.data[v.start] != '"' {
		return "", s.wrongType(v, "a string in double quotes")
	}
	return s.unquote(v)
}

// boolean decodes true or false.
func (s *scanner) boolean(v value) (bool, *fault) {
	switch string(s.data[v.start:v.end]) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, s.wrongType(v, "true or false without quotes")
}

// number31 decodes a whole number from 0 to 2³¹−1.
func (s *scanner) number31(v value) (int, *fault) {
	n, err := strconv.ParseUint(string(s.data[v.start:v.end]), 10, 31)
	if err != nil {
		return 0, s.wrongType(v, "a whole number from 0")
	}
	return int(n), nil
}

// number64 decodes a whole number from 0 to 2⁶⁴−1.
func (s *scanner) number64(v value) (uint64, *fault) {
	n, err := strconv.ParseUint(string(s.data[v.start:v.end]), 10, 64)
	if err != nil {
		return 0, s.wrongType(v, "a whole number from 0")
	}
	return n, nil
}

// texts decodes an array of strings; an empty one is nil.
func (s *scanner) texts(v value) ([]string, *fault) {
	if s.data[v.start] != '[' {
		return nil, s.wrongType(v, "a list of strings")
	}
	var list []string
	at := scanner{data: s.data, pos: v.start, lenient: s.lenient}
	f := at.array(0, func(v value) *fault {
		text, f := s.text(v)
		list = append(list, text)
		return f
	})
	return list, f
}

func (s *scanner) isNull(v value) bool { return string(s.data[v.start:v.end]) == "null" }

func (s *scanner) isEmptyList(v value) bool {
	return s.data[v.start] == '[' && len(bytes.TrimSpace(s.data[v.start+1:v.end-1])) == 0
}

func (s *scanner) wrongType(v value, want string) *fault {
	return faultAt(v.start, "write "+want, "is %s", typeName(s.data[v.start]))
}

// typeName names the type of the JSON value that begins with c.
func typeName(c byte) string {
	switch c {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number that does not fit"
}
