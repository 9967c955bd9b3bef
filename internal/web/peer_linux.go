package web

import (
	"net/netip"
	"os"
)

// peerUID says whose the other end of a connection on this machine is. ok is
// false if that cannot be told.
func peerUID(remote string) (uid int, ok bool) {
	at, err := netip.ParseAddrPort(remote)
	if err != nil || !at.Addr().IsLoopback() {
		return 0, false
	}
	name := "/proc/net/tcp6"
	if at.Addr().Is4() {
		name = "/proc/net/tcp"
	}
	f, err := os.Open(name)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	return socketUID(f, at)
}
