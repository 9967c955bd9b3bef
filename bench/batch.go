package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// batchSize is how many messages one batch has.
const batchSize = 100

// batch measures post send --batch, its start included, against durable files
// that are written one after the other.
func batch(b *bench) error {
	dir, _, err := b.makeOffice("batch", 2)
	if err != nil {
		return err
	}
	input := batchInput("a1", batchSize)
	send := &side{do: func(int) (time.Duration, error) {
		return b.timed(bytes.NewReader(input), b.post, "send", "--batch", "--again", "--as", "a0", "--office", dir)
	}}
	root := filepath.Join(b.dir, "batch-raw")
	if err := os.Mkdir(root, 0o700); err != nil {
		return err
	}
	raw := &side{do: func(round int) (time.Duration, error) {
		begin := time.Now()
		for i := range batchSize {
			if err := rawFile(root, fmt.Sprintf("%d-%d", round, i)); err != nil {
				return 0, err
			}
		}
		return time.Since(begin), nil
	}}
	if err := interleave(max(b.rounds, cheap/2), raw, send); err != nil {
		return err
	}
	rate := func(s *side) float64 { return batchSize / s.median().Seconds() }
	b.atLeast(fmt.Sprintf("send --batch, %d messages", batchSize), fmt.Sprintf("%.0f/s", rate(send)), fmt.Sprintf("raw file %.0f/s", rate(raw)), rate(send)/rate(raw), 5)
	return nil
}

// batchInput is n messages as post send --batch reads them.
func batchInput(to string, n int) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for i := range n {
		enc.Encode(map[string]string{"to": to, "subject": fmt.Sprint("bench ", i), "body": body})
	}
	return buf.Bytes()
}
