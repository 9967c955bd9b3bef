package mail

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{-time.Hour: "0s", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59 * time.Minute: "59m",
		time.Hour: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 400 * 24 * time.Hour: "400d"} {
		if got := Age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
