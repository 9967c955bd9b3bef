package registry

// CRC-32 (IEEE), as hash/crc32 has it. That package makes its tables before main
// begins and at the first use, in every process that links it, and takes longer
// for it than a check of an empty inbox takes for its registry.

// fewBytes is up to what length the small table serves.
const fewBytes = 4 << 10

// crc is a checksum under way; the zero value has seen nothing.
type crc struct {
	sum    uint32
	tables *[8][256]uint32 // made when there is enough to do
}

// add takes further bytes.
func (c *crc) add(b []byte) {
	if len(b) > fewBytes || c.tables != nil {
		b = c.addMany(b)
	}
	nibbles := nibbleTable()
	sum := ^c.sum
	for _, x := range b {
		sum ^= uint32(x)
		sum = nibbles[sum&15] ^ sum>>4
		sum = nibbles[sum&15] ^ sum>>4
	}
	c.sum = ^sum
}

// addMany takes eight bytes at a time and returns the rest.
func (c *crc) addMany(b []byte) []byte {
	if c.tables == nil {
		c.tables = slicingTables()
	}
	t, sum := c.tables, ^c.sum
	for ; len(b) >= 8; b = b[8:] {
		sum ^= uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		sum = t[0][b[7]] ^ t[1][b[6]] ^ t[2][b[5]] ^ t[3][b[4]] ^
			t[4][sum>>24] ^ t[5][sum>>16&255] ^ t[6][sum>>8&255] ^ t[7][sum&255]
	}
	c.sum = ^sum
	return b
}

// nibbleTable is the remainder of each half byte.
func nibbleTable() [16]uint32 {
	return [16]uint32{
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	}
}

// slicingTables has in [n][x] the remainder of byte x with n zero bytes behind it.
func slicingTables() *[8][256]uint32 {
	t, nibbles := new([8][256]uint32), nibbleTable()
	for x := range t[0] {
		sum := nibbles[x&15] ^ uint32(x)>>4
		t[0][x] = nibbles[sum&15] ^ sum>>4
	}
	for n := 1; n < len(t); n++ {
		for x, sum := range t[n-1] {
			t[n][x] = t[0][sum&255] ^ sum>>8
		}
	}
	return t
}

// checksum is the CRC-32 of b.
func checksum(b []byte) uint32 {
	var c crc
	c.add(b)
	return c.sum
}
