//go:build e2e && linux

package links

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// kill -9 of who serves the sending or the receiving office, or of the hub, at
// forty seeded moments while mail goes both ways.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"sender", "receiver", "hub"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "one:ann", "two:bob")
			one, two := w.station("one"), w.station("two")
			rng := rand.New(rand.NewPCG(7, uint64(len(victim))))
			var ta tally
			quit := make(chan bool)
			var senders sync.WaitGroup
			load := func(s *station, from, to string) {
				senders.Go(func() {
					for {
						select {
						case <-quit:
							return
						default:
							ta.say(s, from, to, "--wait", "50ms")
						}
					}
				})
			}
			load(one, "ann", "bob@two")
			if victim == "hub" {
				load(two, "bob", "ann@one")
			}
			for range 40 {
				time.Sleep(time.Duration(rng.IntN(250_000)) * time.Microsecond) // the moment is the point
				switch victim {
				case "sender":
					one.serve.kill()
					one.up()
				case "receiver":
					two.serve.kill()
					two.up()
				case "hub":
					w.hub.run.kill()
					w.hub.start()
				}
			}
			close(quit)
			senders.Wait()
			v := w.rest(ta.all())
			for _, s := range w.stations {
				for _, a := range s.status().Alarms {
					t.Errorf("%s raises an alarm of %s: %s", s.name, a.Station, a.Text)
				}
			}
			t.Logf("killed 40 times: %v; senders were told %v", v, ta.exits())
			if v.crossings < 40 {
				t.Errorf("too little happened: %v", v)
			}
		})
	}
}
