package hub

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A station is a consumer, and a server takes 1,000 of a stream unless told
// otherwise: the 1,001st could not join.
func TestNoLimitOfStations(t *testing.T) {
	t.Parallel()
	s, err := openState(t.TempDir(), "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	e := &engine{accounts: &server.MemAccResolver{}, keys: s.keys, team: s.team()}
	opts, err := e.options(Options{Listen: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if opts.JetStreamLimits.DefaultMaxConsumers != -1 {
		t.Errorf("at most %d stations, want as many as there are", opts.JetStreamLimits.DefaultMaxConsumers)
	}
}
