//go:build e2e && linux

package links

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// hub is `post hub` on some machine.
type hub struct {
	*machine
	dir  string
	addr string
	args []string
	run  *process
}

const hubPort = 4777

// newGround is a network without anybody.
func newGround(t *testing.T) *world {
	t.Helper()
	return &world{t: t, net: newNetwork()}
}

// newWorld is a hub that is nobody's office, and a station for each name, joined
// and served, with the agents that stand behind its colon: "ann:alice,amy".
func newWorld(t *testing.T, stations ...string) *world {
	t.Helper()
	w := newGround(t)
	m := w.machine("hub")
	w.hub = &hub{machine: m, dir: filepath.Join(m.root, "hub"), addr: fmt.Sprintf("%s:%d", w.net.addr(m.host), hubPort)}
	w.hub.args = []string{"hub", "--server-only", "--listen", w.hub.addr, "--dir", w.hub.dir, "--team", "team"}
	w.hub.start()
	for _, spec := range stations {
		w.add(spec)
	}
	w.acquainted()
	return w
}

func (h *hub) start() {
	h.t.Helper()
	h.run = h.machine.start("hub.log", h.args...)
	until(h.t, "the hub prints a join line", func() bool {
		if !h.run.running() {
			h.t.Fatalf("the hub ended:\n%s", h.run.said())
		}
		return joinLine(h.run.said()) != ""
	})
}

var joinRE = regexp.MustCompile(`postroom-join:\S+`)

// joinLine finds the newest join line in what a hub printed.
func joinLine(text string) string {
	list := joinRE.FindAllString(text, -1)
	if list == nil {
		return ""
	}
	return list[len(list)-1]
}

// invite asks the hub for one more line.
func (h *hub) invite() string {
	h.t.Helper()
	r := h.feed("", "hub", "invite", "--dir", h.dir)
	line := joinLine(r.out)
	if r.exit != 0 || line == "" {
		h.t.Fatalf("no join line:\n%v", r)
	}
	return line
}

// station is an office that is linked.
type station struct {
	*machine
	office string
	agents []string
	serve  *process
}

// add makes an office, joins it and serves it.
func (w *world) add(spec string) *station {
	w.t.Helper()
	s := w.office(spec)
	s.joinBy(w.hub.invite())
	s.up()
	w.stations = append(w.stations, s)
	return s
}

// office is an office that is not linked yet.
func (w *world) office(spec string) *station {
	w.t.Helper()
	name, list, _ := strings.Cut(spec, ":")
	m := w.machine(name)
	s := &station{machine: m, office: filepath.Join(m.root, "office")}
	s.ok("init", s.office, "--person-check", "env")
	s.noFuse()
	for a := range strings.SplitSeq(list, ",") {
		s.join(a)
	}
	return s
}

// noFuse lets agents alternate as often as a scenario wants.
func (s *station) noFuse() {
	file := filepath.Join(s.office, "postroom.toml")
	text, err := os.ReadFile(file)
	must(s.t, err)
	text = regexp.MustCompile(`(?m)^(fuse_turns|fuse_per_hour) = \d+$`).ReplaceAll(text, []byte("$1 = 1000000"))
	must(s.t, os.WriteFile(file, text, 0o600))
}

func (s *station) join(agent string, more ...string) {
	s.t.Helper()
	ws := filepath.Join(s.root, "work", agent)
	must(s.t, os.MkdirAll(ws, 0o755))
	s.ok(append([]string{"join", agent, "--workspace", ws}, more...)...)
	s.agents = append(s.agents, agent)
}

// joinBy gives a join line to the station, as if it were pasted.
func (s *station) joinBy(line string) {
	s.t.Helper()
	if r := s.feed(line+"\n", "link", "join", "-", "--station", s.name, "--office", s.office); r.exit != 0 {
		s.t.Fatalf("%v", r)
	}
	if alone {
		return
	}
	// Without namespaces the proxy stands between it and the hub.
	file := filepath.Join(s.office, "link", "station.json")
	text, err := os.ReadFile(file)
	must(s.t, err)
	there := strings.ReplaceAll(string(text), s.w.hub.addr, s.w.net.reach(s.t, s.host, s.w.hub.host, hubPort))
	must(s.t, os.WriteFile(file, []byte(there), 0o600))
}

// up serves the office.
func (s *station) up() {
	s.t.Helper()
	s.serve = s.start("serve.log", "serve", "--office", s.office)
}

// post runs a command in the office.
func (s *station) post(args ...string) ran {
	s.t.Helper()
	if args[0] != "init" {
		args = append(args[:len(args):len(args)], "--office", s.office)
	}
	return s.feed("", args...)
}

func (s *station) ok(args ...string) ran {
	s.t.Helper()
	r := s.post(args...)
	if r.exit != 0 {
		s.t.Fatalf("%v", r)
	}
	return r
}

// send sends a short message to an agent of another station, and wants it there.
func (s *station) send(from, to, body string, more ...string) string {
	s.t.Helper()
	r := s.post(append([]string{"send", to, "--as", from, "-s", "about " + body, "-m", body, "--wait", "30s"}, more...)...)
	return r.want(0, "delivered ").id()
}

// status is what the link says of itself.
type status struct {
	Up    bool
	Since time.Time
	Why   string
	PID   int
	Peers []struct {
		Station         string
		Agents, Waiting int
		Revoked         bool
		Trouble         string
	}
	Alarms []struct{ Station, Text string }
}

func (s *station) status() (st status) {
	data, err := os.ReadFile(filepath.Join(s.office, "link", "status.json"))
	if err == nil {
		json.Unmarshal(data, &st)
	}
	return st
}

// acquainted waits until every station is up and knows all agents of all others.
func (w *world) acquainted() {
	w.t.Helper()
	for _, s := range w.stations {
		until(w.t, s.name+" knows everybody", func() bool {
			if !s.serve.running() {
				w.t.Fatalf("serve of %s ended:\n%s", s.name, s.serve.said())
			}
			b := s.read()
			for _, other := range w.stations {
				for _, a := range other.agents {
					if other != s && b.agents[a+"@"+other.name] == nil {
						return false
					}
				}
			}
			return s.status().Up
		})
	}
}

// cut is a partition, in one direction.
func (w *world) cut(from, to *machine) { w.net.set(from.host, to.host, weather{cut: true}) }

// heal ends it.
func (w *world) heal(from, to *machine) { w.net.set(from.host, to.host, weather{}) }

// apart takes a station off the hub in both directions.
func (s *station) apart() { s.w.cut(s.machine, s.w.hub.machine); s.w.cut(s.w.hub.machine, s.machine) }

// back brings it back.
func (s *station) back() { s.w.heal(s.machine, s.w.hub.machine); s.w.heal(s.w.hub.machine, s.machine) }

// station returns one by name.
func (w *world) station(name string) *station {
	w.t.Helper()
	for _, s := range w.stations {
		if s.name == name {
			return s
		}
	}
	w.t.Fatalf("no station %s", name)
	return nil
}
