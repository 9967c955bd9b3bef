package registry

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestChecksum: ours is hash/crc32's, whole and in pieces of any length.
func TestChecksum(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 40_000)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	for _, n := range []int{0, 1, 7, 8, 9, 743, fewBytes, fewBytes + 1, fewBytes + 5, len(b)} {
		if got, want := checksum(b[:n]), crc32.ChecksumIEEE(b[:n]); got != want {
			t.Errorf("%d bytes: %08x, want %08x", n, got, want)
		}
	}
	for range 200 {
		var c crc
		n := 0
		for _, most := range []int{1, 10, 300, fewBytes, 3 * fewBytes} {
			k := rnd.IntN(2 * most)
			k = min(k, len(b)-n)
			c.add(b[n : n+k])
			n += k
		}
		if want := crc32.ChecksumIEEE(b[:n]); c.sum != want {
			t.Fatalf("%d bytes in pieces: %08x, want %08x", n, c.sum, want)
		}
	}
}
