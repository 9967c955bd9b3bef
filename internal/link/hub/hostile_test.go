package hub

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/postroom/postroom/internal/link"
	"github.com/postroom/postroom/internal/link/natslink"
)

// hostile is a client with a station's true credentials that keeps to nothing.
type hostile struct {
	t  *testing.T
	nc *nats.Conn
}

func attack(t *testing.T, h *Hub, who ...nats.Option) *hostile {
	t.Helper()
	nc, err := nats.Connect("tls://"+h.Nearby(), append(append(natslink.Dialing(h.Pin()), who...), nats.NoReconnect(), quiet())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return &hostile{t, nc}
}

func credentials(m Member) nats.Option { return nats.UserJWTAndSeed(m.User.JWT, m.User.Seed) }

// publish sends and returns what the server says against it, "" for nothing.
func (x *hostile) publish(subject, reply, data string) string {
	x.t.Helper()
	return x.try(func() error { return x.nc.PublishRequest(subject, reply, []byte(data)) })
}

func (x *hostile) subscribe(subject string) string {
	x.t.Helper()
	return x.try(func() error {
		_, err := x.nc.Subscribe(subject, func(m *nats.Msg) { x.t.Errorf("it reads %s: %q", m.Subject, m.Data) })
		return err
	})
}

// try does it and returns what the server says against it: its complaint comes
// before its answer to a ping that is sent later.
func (x *hostile) try(do func() error) string {
	x.t.Helper()
	before := x.nc.LastError()
	if err := do(); err != nil {
		x.t.Fatal(err)
	}
	if err := x.nc.Flush(); err != nil {
		x.t.Fatal(err)
	}
	if err := x.nc.LastError(); err != nil && err != before {
		return strings.ToLower(err.Error())
	}
	return ""
}

// TestHostileStation: what a station may not do, tried with its own credentials.
func TestHostileStation(t *testing.T) {
	t.Parallel()
	h := startHub(t, t.TempDir(), "127.0.0.1:0")
	ann, bob, eve := joined(t, h, "ann"), joined(t, h, "bob"), joined(t, h, "eve")
	a, b := wire(t, ann), wire(t, bob)
	if err := b.PutCard(t.Context(), []byte("bob's")); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := <-a.Publish("bob", link.Mail, fmt.Sprint(i), []byte(fmt.Sprint("mail ", i))); err != nil {
			t.Fatal(err)
		}
	}
	x := attack(t, h, credentials(eve))
	for _, subject := range []string{
		"post.crew.from.ann.to.bob.msg", "post.crew.from.bob.to.ann.rcpt", "post.crew.from.eve.to.bob", "post.crew.from.eve.to.bob.msg.more", "post.other.from.eve.to.bob.msg",
		"post.crew.dir.bob", "post.crew.dir.nobody", "_INBOX_bob.x.y", "_INBOX_guest_.x", "_INBOX.x",
		"post.crew.hub.join", "post.crew.hub.rotate.bob", "post.crew.hub.leave.bob", "post.crew.hub.admin.invite", "post.crew.hub.admin.revoke", "post.crew.hub.admin.status",
		"$JS.API.CONSUMER.CREATE.POST_crew", "$JS.API.CONSUMER.CREATE.POST_crew.spy", "$JS.API.CONSUMER.CREATE.POST_crew.eve.post.crew.from.>",
		"$JS.API.CONSUMER.DURABLE.CREATE.POST_crew.spy", "$JS.API.CONSUMER.CREATE.POST_crew_DIR.spy", "$JS.API.CONSUMER.DELETE.POST_crew.bob", "$JS.API.CONSUMER.DELETE.POST_crew.eve",
		"$JS.API.CONSUMER.MSG.NEXT.POST_crew.bob", "$JS.API.CONSUMER.INFO.POST_crew.bob", "$JS.API.CONSUMER.NAMES.POST_crew", "$JS.API.CONSUMER.LIST.POST_crew",
		"$JS.API.CONSUMER.PAUSE.POST_crew.bob", "$JS.API.CONSUMER.RESET.POST_crew.bob", "$JS.API.CONSUMER.UNPIN.POST_crew.bob",
		"$JS.API.STREAM.CREATE.SPY", "$JS.API.STREAM.UPDATE.POST_crew", "$JS.API.STREAM.DELETE.POST_crew", "$JS.API.STREAM.PURGE.POST_crew", "$JS.API.STREAM.INFO.POST_crew",
		"$JS.API.STREAM.MSG.GET.POST_crew", "$JS.API.STREAM.MSG.DELETE.POST_crew", "$JS.API.STREAM.MSG.GET.POST_crew_DIR", "$JS.API.STREAM.SNAPSHOT.POST_crew", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST",
		"$JS.API.DIRECT.GET.POST_crew", "$JS.API.DIRECT.GET.POST_crew_DIR", "$JS.API.DIRECT.GET.POST_crew.post.crew.from.ann.to.bob.msg", "$JS.API.INFO", "$JS.API.META.LEADER.STEPDOWN", "$JS.API.ACCOUNT.PURGE.x",
		"$JS.ACK.POST_crew.bob.1.1.1.1.0", "$JS.ACK._.x.POST_crew.bob.1.1.1.1.0", "$JS.ACK._.x.POST_crew.eve.1.1.1.1.0", "$JS.ACK.POST_crew.bob.POST_crew.eve.1.1.1", "$JS.FC.POST_crew.bob.x",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SRV.PING",
	} {
		if said := x.publish(subject, "_INBOX_eve.answer", "{}"); !strings.Contains(said, "permissions violation for publish") {
			t.Errorf("it may publish to %s: %q", subject, said)
		}
	}
	for _, subject := range []string{">", "post.>", "post.crew.from.>", "post.crew.from.*.to.bob.msg", "post.crew.hub.>", "_INBOX_bob.>", "_INBOX_*.>", "_INBOX.>", "$JS.>", "$JS.ACK.>", "$JS.API.>", "$SYS.>", "*.>"} {
		if said := x.subscribe(subject); !strings.Contains(said, "permissions violation for subscription") {
			t.Errorf("it may subscribe to %s: %q", subject, said)
		}
	}
	for _, subject := range []string{"post.crew.dir.eve", "post.crew.from.eve.to.bob.msg"} { // headers that JetStream obeys where it is told to
		for header, value := range map[string]string{"Nats-Rollup": "all", "Nats-TTL": "1s", "Nats-Schedule": "@every 1s", "Nats-Batch-Id": "x", "Nats-Incr": "+1"} {
			if said := x.try(func() error {
				return x.nc.PublishMsg(&nats.Msg{Subject: subject, Data: []byte("x"), Header: nats.Header{header: {value}}})
			}); said != "" {
				t.Fatal(said)
			}
		}
	}
	in := receive(t, b)
	for i := range 3 {
		until(t, "bob has his mail", func() error { return in.has(fmt.Sprint("ann: mail ", i)) })
	}
	if cards, err := a.Cards(t.Context()); err != nil || string(cards["bob"].Data) != "bob's" {
		t.Errorf("bob's card is %q, %v", cards["bob"].Data, err)
	}
}

// TestNumberedStation: with the customary permission for acknowledgements,
// $JS.ACK.*.*.STREAM.NAME.>, a station called 1 acknowledges message 1 of anybody.
func TestNumberedStation(t *testing.T) {
	t.Parallel()
	h := startHub(t, t.TempDir(), "127.0.0.1:0")
	ann, bob, one := joined(t, h, "ann"), joined(t, h, "bob"), joined(t, h, "1")
	if err := <-wire(t, ann).Publish("bob", link.Mail, "m", []byte("precious")); err != nil {
		t.Fatal(err)
	}
	b := wire(t, bob)
	out := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		b.Receive(ctx, func([]link.Parcel) { stop() }) // it is pending now
		close(out)
	}()
	<-out
	if said := attack(t, h, credentials(one)).publish("$JS.ACK.POST_crew.bob.POST_crew.1.1.1.0", "_INBOX_1.x", "+ACK"); !strings.Contains(said, "permissions violation") {
		t.Errorf("the server says %q", said)
	}
	b.Close()
	in := receive(t, wire(t, bob))
	until(t, "the mail comes again", func() error { return in.has("ann: precious") })
}

// TestReplyHole shows the one hole that permissions leave: where an answer goes is
// not checked, so the server's own words can be brought under anybody's subject.
// They are no envelope of anybody's (link checks signatures), and a mark of
// revocation that is brought so counts for nothing.
func TestReplyHole(t *testing.T) {
	t.Parallel()
	h := startHub(t, t.TempDir(), "127.0.0.1:0")
	ann, bob, eve, dan := joined(t, h, "ann"), joined(t, h, "bob"), joined(t, h, "eve"), joined(t, h, "dan")
	if err := wire(t, dan).PutCard(t.Context(), []byte("dan's")); err != nil {
		t.Fatal(err)
	}
	if err := h.Revoke(t.Context(), "dan"); err != nil {
		t.Fatal(err)
	}
	a, b := wire(t, ann), wire(t, bob)
	if err := b.PutCard(t.Context(), []byte("bob's")); err != nil {
		t.Fatal(err)
	}
	x := attack(t, h, credentials(eve))
	if said := x.publish("$JS.API.CONSUMER.INFO.POST_crew.eve", "post.crew.from.ann.to.bob.msg", ""); said != "" {
		t.Fatalf("the hole is closed: %s", said)
	}
	in := receive(t, b)
	until(t, "the server's answer as ann's mail", func() error {
		in.mu.Lock()
		defer in.mu.Unlock()
		for text := range in.got {
			if strings.HasPrefix(text, `ann: {"type":"io.nats.jetstream.api.v1.consumer_info_response"`) {
				return nil
			}
		}
		return fmt.Errorf("bob has %v", in.got)
	})
	// A card can't speak for another one, whatever its headers say.
	if said := x.try(func() error {
		return x.nc.PublishMsg(&nats.Msg{Subject: "post.crew.dir.eve", Data: []byte("eve's"), Header: nats.Header{"Nats-Subject": {"post.crew.dir.bob"}, "Status": {"204"}}})
	}); said != "" {
		t.Fatal(said)
	}
	until(t, "eve's card is there", func() error {
		cards, err := a.Cards(t.Context())
		if err == nil && string(cards["bob"].Data) != "bob's" {
			t.Fatalf("bob's card is %q", cards["bob"].Data)
		}
		if string(cards["eve"].Data) != "eve's" {
			err = fmt.Errorf("cards are %v, %v", cards, err)
		}
		return err
	})
	// dan's card, with the hub's mark, is brought under bob's subject.
	if said := x.publish("$JS.API.DIRECT.GET.POST_crew_DIR.post.crew.dir.dan", "post.crew.dir.bob", ""); said != "" {
		t.Fatalf("the hole is closed: %s", said)
	}
	until(t, "bob's card is another's", func() error {
		cards, err := a.Cards(t.Context())
		if err == nil && string(cards["bob"].Data) != "dan's" {
			err = fmt.Errorf("it is %q", cards["bob"].Data)
		}
		if cards["bob"].Revoked || !cards["dan"].Revoked {
			t.Fatal("a mark counts for a station that it does not name")
		}
		return err
	})
	// Who sees his own card replaced publishes it again.
	until(t, "bob's card is his again", func() error {
		cards, err := a.Cards(t.Context())
		if err == nil && string(cards["bob"].Data) != "bob's" {
			err = fmt.Errorf("it is %q", cards["bob"].Data)
		}
		return err
	})
}

// TestGuests: what somebody may do who has no key.
func TestGuests(t *testing.T) {
	t.Parallel()
	h := startHub(t, t.TempDir(), "127.0.0.1:0")
	joined(t, h, "bob")
	x := attack(t, h)
	for _, subject := range []string{"post.crew.from.bob.to.ann.msg", "post.crew.dir.bob", "post.crew.hub.rotate.bob", "post.crew.hub.leave.bob", "post.crew.hub.admin.invite", "$JS.API.INFO", "$JS.API.DIRECT.GET.POST_crew_DIR", "$SYS.REQ.SERVER.PING", "_INBOX_guest_.x"} {
		if said := x.publish(subject, "_INBOX_guest_.answer", "{}"); !strings.Contains(said, "permissions violation") {
			t.Errorf("a guest may publish to %s: %q", subject, said)
		}
	}
	for _, subject := range []string{">", "post.>", "post.crew.dir.*", "_INBOX_bob.>", "_INBOX.>", "post.crew.hub.join"} {
		if said := x.subscribe(subject); !strings.Contains(said, "permissions violation") {
			t.Errorf("a guest may subscribe to %s: %q", subject, said)
		}
	}
	// An answer goes to guests' inboxes only, never where a guest wants it.
	if said := x.publish("post.crew.hub.join", "post.crew.from.bob.to.ann.msg", "{}"); said != "" {
		t.Fatal(said)
	}
	if s := h.Status(t.Context()); s.Waiting != 0 {
		t.Errorf("an answer became mail: %d wait", s.Waiting)
	}
	if _, err := nats.Connect("tls://"+h.Nearby(), append(natslink.Dialing(h.Pin()), nats.UserInfo("admin", "admin"), nats.NoReconnect())...); err == nil {
		t.Log("a password counts for nothing: a guest")
	}
	if _, err := nats.Connect("nats://"+h.Nearby(), nats.NoReconnect(), nats.Timeout(300*time.Millisecond)); err == nil {
		t.Error("it speaks without TLS")
	}
	if _, err := nats.Connect("tls://"+h.Nearby(), append(natslink.Dialing(strings.Repeat("0", 64)), nats.NoReconnect())...); err == nil {
		t.Error("the pin is not checked")
	}
}
