package mail

import (
	"strconv"
	"time"
)

// timeLayout is RFC 3339 in UTC with milliseconds, as every file holds it.
const timeLayout = "2006-01-02T15:04:05.000Z"

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. HTML characters and non-ASCII text
// stay as they are. DEL and the C1 controls are escaped beside what JSON
// demands, so that showing a file on a terminal runs nothing. s must be valid
// UTF-8.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f && c != 0xc2 {
			continue
		}
		if c == 0xc2 && (i+1 == len(s) || s[i+1] < 0x80 || s[i+1] >= 0xa0) {
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case 0xc2: // U+0080 to U+009F: the second byte is the code
			i++
			c = s[i]
			fallthrough
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		start = i + 1
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendTime appends t as a JSON string, in UTC and cut to the millisecond.
func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, timeLayout)
	return append(dst, '"')
}

// appendStrings appends a JSON array of strings on one line.
func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendString(dst, s)
	}
	return append(dst, ']')
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
