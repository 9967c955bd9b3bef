package web

import (
	"bufio"
	"encoding/hex"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// socketUID looks for the socket that is bound to at in a table of the kernel.
func socketUID(table io.Reader, at netip.AddrPort) (uid int, ok bool) {
	want := kernelAddr(at)
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		// sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid …
		f := strings.Fields(lines.Text())
		if len(f) > 7 && f[1] == want {
			uid, err := strconv.Atoi(f[7])
			return uid, err == nil
		}
	}
	return 0, false
}

// kernelAddr writes an address as those tables do: words of four bytes as this
// (little-endian) machine keeps them.
func kernelAddr(at netip.AddrPort) string {
	b := at.Addr().AsSlice()
	for i := 0; i+4 <= len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	port := []byte{byte(at.Port() >> 8), byte(at.Port())}
	return strings.ToUpper(hex.EncodeToString(b) + ":" + hex.EncodeToString(port))
}
