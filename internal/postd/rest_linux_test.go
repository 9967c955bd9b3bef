package postd

import (
	"bytes"
	"os"
	"strconv"
	"testing"
)

// mappedFile is how much of mapped files is in memory, in KB.
func mappedFile(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(status) {
		if f := bytes.Fields(line); len(f) == 3 && (string(f[0]) == "RssFile:" || string(f[0]) == "RssShmem:") {
			kb, err := strconv.Atoi(string(f[1]))
			if err != nil {
				t.Fatal(err)
			}
			n += kb
		}
	}
	return n
}

// TestGiveBack: what postd links and does not run costs a resting router nothing.
func TestGiveBack(t *testing.T) {
	before := mappedFile(t)
	giveBack()
	if after := mappedFile(t); after > before*3/4 {
		t.Errorf("%d KB of the program were in memory, and are %d", before, after)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"00400000-00a91000 r-xp 00000000 103:01 1234      /bin/postd\n": true,
		"00a91000-01100000 r--p 00691000 103:01 1234      /bin/postd\n": true,
		"01100000-01140000 rw-p 00d00000 103:01 1234      /bin/postd\n": false,
		"00400000-00a91000 r-xp 00000000 103:01 1234      /bin/other\n": false,
		"c000000000-c000400000 rw-p 00000000 00:00 0 \n":                false,
		"xyz r-xp 00000000 103:01 1234 /bin/postd\n":                    false,
	} {
		if _, _, ok := readOnly([]byte(line), "/bin/postd"); ok != want {
			t.Errorf("%q: %v", line, ok)
		}
	}
}
