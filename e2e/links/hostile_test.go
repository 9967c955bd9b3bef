//go:build e2e && linux

package links

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// thief is a program of somebody's that has all of a station's secrets, and no
// manners.
type thief struct {
	t    *testing.T
	s    *station
	nc   *nats.Conn
	seed nkeys.KeyPair

	mu      sync.Mutex
	refused []string
}

// steal connects with a station's secrets.
func steal(s *station) *thief {
	s.t.Helper()
	file := func(name string) string {
		text, err := os.ReadFile(filepath.Join(s.office, "link", name))
		must(s.t, err)
		return strings.TrimSpace(string(text))
	}
	kp, err := nkeys.FromSeed([]byte(file("seed")))
	must(s.t, err)
	th := &thief{t: s.t, s: s, seed: kp}
	s.w.net.in(s.host, func() {
		th.nc, err = nats.Connect("tls://"+s.w.net.reach(s.t, s.host, s.w.hub.host, hubPort),
			nats.UserJWT(func() (string, error) { return file("user.jwt"), nil }, kp.Sign),
			nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}), nats.TLSHandshakeFirst(),
			nats.CustomInboxPrefix("_INBOX_"+s.name), nats.IgnoreDiscoveredServers(), nats.NoReconnect(),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
				th.mu.Lock()
				th.refused = append(th.refused, err.Error())
				th.mu.Unlock()
			}))
	})
	must(s.t, err)
	s.t.Cleanup(th.nc.Close)
	return th
}

// forbidden does what must be refused by the server.
func (th *thief) forbidden(what string, f func() error) {
	th.t.Helper()
	th.mu.Lock()
	before := len(th.refused)
	th.mu.Unlock()
	err := f()
	must(th.t, th.nc.FlushTimeout(patience))
	until(th.t, "the server refuses to let it "+what, func() bool {
		th.mu.Lock()
		defer th.mu.Unlock()
		return len(th.refused) > before || err != nil && !errors.Is(err, nats.ErrTimeout)
	})
}

// publish says an envelope under a subject, each time under another name.
func (th *thief) publish(subject, dedup string, data []byte) {
	th.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = data
	m.Header.Set(nats.MsgIdHdr, dedup)
	if _, err := th.nc.RequestMsg(m, 10*time.Second); err != nil {
		th.t.Errorf("%s: %v", subject, err)
	}
}

// envelope makes what a station sends (internal/link).
func (th *thief) envelope(header map[string]any, cargo map[string]any, message string) []byte {
	th.t.Helper()
	head, err := json.Marshal(header)
	must(th.t, err)
	load, err := json.Marshal(cargo)
	must(th.t, err)
	body := string(load) + "\n" + message
	sig, err := th.seed.Sign([]byte("postroom link envelope 1\n" + string(head) + "\n" + body))
	must(th.t, err)
	return []byte(string(head) + "\n" + base64.StdEncoding.EncodeToString(sig) + "\n" + body)
}

// A station that is joined, and hostile, can neither write as another one nor
// read what is another one's.
func TestHostileStation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "one:ann", "two:bob", "three:cat")
	one, two, three := w.station("one"), w.station("two"), w.station("three")
	var ta tally
	ta.say(three, "cat", "ann@one", "--wait", "30s").want(0, "delivered")
	three.serve.end()
	th := steal(three)
	for what, f := range map[string]func() error{
		"publish as another station":         func() error { return th.nc.Publish("post.team.from.two.to.one.msg", []byte("x")) },
		"publish a receipt as another":       func() error { return th.nc.Publish("post.team.from.two.to.one.rcpt", []byte("x")) },
		"put another station's card":         func() error { return th.nc.Publish("post.team.dir.two", []byte("x")) },
		"listen to what is for another":      func() error { _, err := th.nc.SubscribeSync("post.team.from.*.to.one.>"); return err },
		"listen to everything":               func() error { _, err := th.nc.SubscribeSync(">"); return err },
		"listen to another's answers":        func() error { _, err := th.nc.SubscribeSync("_INBOX_one.>"); return err },
		"take another station's mail":        func() error { return th.nc.Publish("$JS.API.CONSUMER.MSG.NEXT.POST_team.one", nil) },
		"make a consumer that reads all":     func() error { return th.nc.Publish("$JS.API.CONSUMER.CREATE.POST_team", []byte("{}")) },
		"read the stream":                    func() error { return th.nc.Publish("$JS.API.STREAM.MSG.GET.POST_team", []byte(`{"seq":1}`)) },
		"read the stream directly":           func() error { return th.nc.Publish("$JS.API.DIRECT.GET.POST_team", []byte(`{"seq":1}`)) },
		"delete the stream":                  func() error { return th.nc.Publish("$JS.API.STREAM.DELETE.POST_team", nil) },
		"purge the stream":                   func() error { return th.nc.Publish("$JS.API.STREAM.PURGE.POST_team", nil) },
		"acknowledge another's mail":         func() error { return th.nc.Publish("$JS.ACK.POST_team.one.1.1.1.1.0", []byte("+ACK")) },
		"acknowledge another's mail (as v2)": func() error { return th.nc.Publish("$JS.ACK._.x.POST_team.one.1.1.1.1.0.r", []byte("+ACK")) },
		"rotate another station's key":       func() error { return th.nc.Publish("post.team.hub.rotate.two", []byte("{}")) },
		"let another station leave":          func() error { return th.nc.Publish("post.team.hub.leave.two", []byte("{}")) },
	} {
		th.forbidden(what, f)
	}
	// The hole that permissions leave: where an answer goes is not checked.
	must(t, th.nc.PublishRequest("$JS.API.CONSUMER.INFO.POST_team.three", "post.team.from.two.to.one.msg", nil), th.nc.Flush())
	th.forge(one, two)
	ta.say(two, "bob", "ann@one", "--wait", "30s").want(0, "delivered")
	for _, l := range readBoxes("one", one.office).agents["ann"].has() {
		if from, station, _ := strings.Cut(l.From, "@"); strings.Contains(l.Body, "forged") && station != "three" || from == "ann" {
			t.Errorf("forged mail is there as from %s: %s", l.From, l.Body)
		}
	}
	for _, a := range one.status().Alarms {
		t.Logf("one says of %s: %s", a.Station, a.Text)
	}
	for _, s := range []*station{one, two} {
		if r := s.post("verify"); r.exit != 0 {
			t.Errorf("%v", r)
		}
	}
}

// forge says, under the thief's own subject, what others would have to say; and
// the same honest envelope three times.
func (th *thief) forge(one, two *station) {
	t, three := th.t, th.s
	t.Helper()
	id := three.post("send", "ann@one", "--as", "cat", "-s", "s", "-m", "honest", "--wait", "0s").want(4, "stored").id()
	file := filepath.Join(three.office, "agents", "ann@one", "inbox", id+".json")
	until(t, "it is routed", func() bool { three.post("route"); _, err := os.Stat(file); return err == nil })
	message, err := os.ReadFile(file)
	must(t, err)
	last := struct {
		Epoch string
		Seq   uint64
	}{}
	for _, line := range readLines(filepath.Join(three.office, "link", "out", "one.jsonl")) {
		var e struct {
			Epoch string
			Seq   uint64
		}
		must(t, json.Unmarshal([]byte(line), &e))
		if e.Epoch != "" {
			last.Epoch = e.Epoch
		}
		last.Seq = max(last.Seq, e.Seq)
	}
	ann, cat, bob := one.aid("ann"), three.aid("cat"), two.aid("bob")
	seq := last.Seq
	head := func(id string, more map[string]any) map[string]any {
		h := map[string]any{"v": 1, "team": "team", "kind": "msg", "from": "three", "to": "one", "epoch": last.Epoch, "seq": seq, "id": id}
		for k, v := range more {
			h[k] = v
		}
		return h
	}
	load := func(aid string) map[string]any { return map[string]any{"aid": aid, "recipients": []string{ann}} }
	seq++
	honest := th.envelope(head(id, nil), load(cat), string(message))
	mine := "post.team.from.three.to.one.msg"
	for n := range 3 {
		th.publish(mine, fmt.Sprint("replay ", n), honest)
	}
	until(t, "it is there", func() bool { return has(one, "ann", id) })
	// Each has an id and a number of its own, so that neither is what it fails by.
	forged := 0
	next := func(header map[string]any, aid, from string) []byte {
		seq++
		forged++
		id := fmt.Sprintf("%s-%04d-%s", id[:24], 100+forged, id[30:])
		m := strings.Replace(string(message), `"body": "honest"`, fmt.Sprintf(`"body": "forged %d"`, forged), 1)
		m = strings.Replace(strings.Replace(m, `"from": "cat"`, `"from": "`+from+`"`, 1), string(message[len("{\n  \"schema\": 1,\n  \"id\": \""):][:38]), id, 1)
		return th.envelope(head(id, header), load(aid), m)
	}
	for n, data := range [][]byte{
		next(nil, bob, "bob"),
		next(nil, bob, "bob@two"),
		next(nil, cat, "postroom@two"),
		next(nil, cat, "human@two"),
		next(nil, cat, "ann"),
		next(nil, bob, "cat"),
		next(map[string]any{"from": "two"}, bob, "bob"),
		next(map[string]any{"team": "other"}, cat, "cat"),
		append([]byte("garbage\n"), honest...),
		[]byte(`{"v":1}`),
		nil,
	} {
		th.publish(mine, fmt.Sprint("forged ", n), data)
	}
	// Who is on no card yet may be on the next one: that is waited for.
	until(t, "one has judged all that three says it is from it", func() bool {
		return strings.Contains(strings.Join(readLines(filepath.Join(one.office, "link", "in", "three.jsonl")), "\n"), fmt.Sprintf("-%04d-", 106))
	})
	until(t, "one raises alarms of three", func() bool {
		text := fmt.Sprint(one.status().Alarms)
		return strings.Contains(text, "{three") && strings.Contains(text, "from two for one")
	})
	until(t, "the honest one is there once", func() bool { return one.holds("ann", "honest") == 1 })
}

// aid is the stable id of an agent.
func (s *station) aid(agent string) string { return readBoxes(s.name, s.office).agents[agent].aid }
