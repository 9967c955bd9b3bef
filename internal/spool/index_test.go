package spool

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

func newBox(t *testing.T) (Box, *vfs.Mem) {
	t.Helper()
	mem := vfs.NewMem(time.Now)
	if err := mem.Mkdir("a", 0o700); err != nil {
		t.Fatal(err)
	}
	b := Box{FS: mem, Dir: "a", Shared: true}
	if err := b.Make(); err != nil {
		t.Fatal(err)
	}
	mem.SyncAll()
	return b, mem
}

func write(t *testing.T, b Box, name string, data []byte) {
	t.Helper()
	f, err := b.FS.OpenFile(b.Path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
}

// TestBackwards compares the lines that come from the end with a plain split.
func TestBackwards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b, _ := newBox(t)
		var text []byte
		for range rapid.IntRange(0, 12).Draw(rt, "lines") {
			n := rapid.SampledFrom([]int{0, 1, 5, chunk - 2, chunk - 1, chunk, chunk + 1, 3*chunk + 7}).Draw(rt, "length")
			text = append(text, bytes.Repeat([]byte{'x'}, n)...)
			text = append(text, '\n')
		}
		if rapid.Bool().Draw(rt, "torn") && len(text) > 0 {
			text = text[:len(text)-1]
		}
		write(t, b, Index, text)
		f, err := b.FS.OpenFile(b.Path(Index), os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var got []byte
		at := int64(len(text))
		err = backwards(f, int64(len(text)), everything, func(line []byte, start, end int64, whole bool) bool {
			if end != at || !bytes.Equal(text[start:end], append(bytes.Clone(line), strings.Repeat("\n", count(whole))...)) {
				rt.Fatalf("line %d..%d, whole %v, %d bytes, wanted one that ends at %d", start, end, whole, len(line), at)
			}
			at = start
			got = append(bytes.Clone(text[start:end]), got...)
			return true
		})
		if err != nil || at != 0 || !bytes.Equal(got, text) {
			rt.Fatalf("%v, %d left", err, at)
		}
	})
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestBackwardsPassesOverWhatIsTooLong(t *testing.T) {
	t.Parallel()
	b, _ := newBox(t)
	text := "first\n" + strings.Repeat("y", maxLine+3*chunk) + "\nlast\n"
	write(t, b, Index, []byte(text))
	f, err := b.FS.OpenFile(b.Path(Index), os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	if err := backwards(f, int64(len(text)), everything, func(line []byte, _, _ int64, _ bool) bool {
		got = append(got, string(line))
		return true
	}); err != nil || fmt.Sprint(got) != "[last  first]" {
		t.Errorf("%.100q %v", got, err)
	}
}

func line(n int) mail.IndexLine {
	var c mail.Clock
	id := c.Next(time.UnixMilli(int64(1_780_000_000_000+n)), "a-1")
	return mail.IndexLine{ID: id, Digest: mail.DigestOf([]byte{byte(n)}), From: "b", Act: "inform", Subject: "s", Conversation: "conv-1", As: mail.AsTo}
}

// TestIndexTail appends to what a crash, or its owner, left of an index.
func TestIndexTail(t *testing.T) {
	t.Parallel()
	sound := string(mail.IndexLine{Seq: 7, ID: line(1).ID, Digest: line(1).Digest, From: "b", Act: "inform", Subject: "s", Conversation: "conv-1", As: mail.AsTo}.AppendLine(nil))
	for name, c := range map[string]struct {
		text string
		seq  uint64 // of the next line
	}{
		"empty":        {"", 1},
		"sound":        {sound, 8},
		"torn":         {sound + sound[:20], 8},
		"without feed": {sound[:len(sound)-1], 1},
		"zeros":        {sound + strings.Repeat("\x00", 5000), 8},
		"empty lines":  {sound + strings.Repeat("\n", 5000), 8},
		"other text":   {"hello\n", 1},
		"garbage":      {strings.Repeat("x", 3*chunk), 1},
		"far":          {sound + strings.Repeat("\x00", 2*tailReach), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := newBox(t)
			write(t, b, Index, []byte(c.text))
			lines := []mail.IndexLine{line(2), line(3)}
			f, err := b.AppendIndex(lines)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			if lines[0].Seq != c.seq || lines[1].Seq != c.seq+1 {
				t.Errorf("seq %d %d, wanted %d", lines[0].Seq, lines[1].Seq, c.seq)
			}
			n := 0
			if err := b.ScanIndex(func(l mail.IndexLine) bool { n++; return true }); err != nil {
				t.Error(err)
			}
			if want := 2 + count(c.seq == 8); n != want {
				t.Errorf("%d lines, wanted %d", n, want)
			}
			if _, ok, err := b.FindIndex(line(3).ID, 0); !ok || err != nil {
				t.Error(err)
			}
		})
	}
}
