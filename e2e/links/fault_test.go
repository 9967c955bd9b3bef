//go:build e2e && linux

package links

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fill leaves so many pages of a station's disk free. It returns how to undo it.
func (m *machine) fill(pages int) (free func()) {
	m.t.Helper()
	var st unix.Statfs_t
	must(m.t, unix.Statfs(m.root, &st))
	path := filepath.Join(m.root, "ballast")
	f, err := os.Create(path)
	must(m.t, err)
	defer f.Close()
	for left := int64(st.Bfree) - int64(pages); left > 0; left /= 2 { // somebody else may be faster
		if unix.Fallocate(int(f.Fd()), 0, 0, left*st.Bsize) == nil {
			break
		}
	}
	return func() { os.Remove(path) }
}

// faults hurts a world at seeded moments, one fault after the other.
type faults struct {
	w    *world
	rng  *rand.Rand
	mu   sync.Mutex
	seen map[string]int
}

// kinds of fault. Each lasts about as long as it is told, and is healed when it
// returns.
func (f *faults) kinds() map[string]func(s *station, long time.Duration) {
	hold := time.Sleep // how long a fault lasts is the point
	return map[string]func(s *station, long time.Duration){
		"station killed": func(s *station, long time.Duration) {
			s.serve.kill()
			hold(long / 4)
			s.up()
		},
		"station ended": func(s *station, _ time.Duration) { s.serve.end(); s.up() },
		"hub killed": func(_ *station, long time.Duration) {
			f.w.hub.run.kill()
			hold(long / 4)
			f.w.hub.start()
		},
		"hub ended": func(_ *station, _ time.Duration) { f.w.hub.run.end(); f.w.hub.start() },
		"all killed": func(_ *station, _ time.Duration) {
			f.w.hub.run.kill()
			for _, s := range f.w.stations {
				s.serve.kill()
			}
			f.w.hub.start()
			for _, s := range f.w.stations {
				s.up()
			}
		},
		"cut from station": func(s *station, long time.Duration) {
			f.w.cut(s.machine, f.w.hub.machine)
			hold(long)
			f.w.heal(s.machine, f.w.hub.machine)
		},
		"cut to station": func(s *station, long time.Duration) {
			f.w.cut(f.w.hub.machine, s.machine)
			hold(long)
			f.w.heal(f.w.hub.machine, s.machine)
		},
		"partition": func(s *station, long time.Duration) { s.apart(); hold(long); s.back() },
		"cable out": func(s *station, long time.Duration) {
			f.w.net.carrier(s.host, false)
			hold(long)
			f.w.net.carrier(s.host, true)
		},
		"station sleeps": func(s *station, long time.Duration) {
			s.serve.signal(syscall.SIGSTOP)
			hold(long)
			s.serve.signal(syscall.SIGCONT)
		},
		"hub sleeps": func(_ *station, long time.Duration) {
			f.w.hub.run.signal(syscall.SIGSTOP)
			hold(long)
			f.w.hub.run.signal(syscall.SIGCONT)
		},
		"flapping": func(s *station, _ time.Duration) {
			for range 8 {
				s.apart()
				hold(150 * time.Millisecond)
				s.back()
				hold(100 * time.Millisecond)
			}
		},
		"bad weather": func(_ *station, long time.Duration) {
			f.everywhere(weather{delay: 30 * time.Millisecond, jitter: 60 * time.Millisecond, loss: 0.05})
			hold(long)
			f.everywhere(weather{})
		},
		"disk full": func(s *station, long time.Duration) {
			if !alone {
				return
			}
			free := s.fill(int(long/time.Millisecond) % 9)
			hold(long / 3)
			free()
		},
	}
}

func (f *faults) everywhere(w weather) {
	for _, s := range f.w.stations {
		f.w.net.set(s.host, f.w.hub.host, w)
		f.w.net.set(f.w.hub.host, s.host, w)
	}
}

// run hurts until the time is over.
func (f *faults) run(until time.Time) {
	kinds := f.kinds()
	names := slices.Sorted(maps.Keys(kinds))
	f.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for n := 0; time.Now().Before(until); n++ {
		name := names[n%len(names)] // each kind in turn, so that a short run has seen most
		s := f.w.stations[f.rng.IntN(len(f.w.stations))]
		long := time.Duration(200+f.rng.IntN(3000)) * time.Millisecond
		if f.rng.IntN(12) == 0 {
			long = 24 * time.Second // longer than anybody's patience with a connection
		}
		long = min(long, max(time.Second, time.Until(until)))
		f.count(name)
		kinds[name](s, long)
		time.Sleep(time.Duration(f.rng.IntN(1200)) * time.Millisecond) // and some peace
	}
}

func (f *faults) count(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[name]++
}

func (f *faults) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.seen)) {
		out = append(out, fmt.Sprintf("%s %d", name, f.seen[name]))
	}
	return strings.Join(out, ", ")
}
