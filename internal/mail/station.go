package mail

import (
	"errors"
	"strings"
)

// stationMax keeps agent@station within a file name.
const stationMax = 32

// ParseStation checks a station's name: a name (ParseName) of at most 32
// characters without dots, which subjects on the wire are parted by. The error
// is KindInvalid.
func ParseStation(s string) (string, error) {
	if _, err := ParseName(s); err != nil {
		return "", err
	}
	if len(s) > stationMax || strings.Contains(s, ".") {
		return "", &Error{Op: "parse station", Kind: KindInvalid, Addr: quoteShort(s),
			Err: errors.New("is no station's name: at most 32 of a-z, 0-9 and hyphen"), Hint: "choose one such as ann-laptop"}
	}
	return s, nil
}
