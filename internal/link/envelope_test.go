package link

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/postroom/postroom/internal/mail"
)

func newKeys(t testing.TB) Keys {
	t.Helper()
	sign, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	curve, err := nkeys.CreateCurveKeys()
	if err != nil {
		t.Fatal(err)
	}
	return Keys{sign, curve}
}

func public(t testing.TB, k nkeys.KeyPair) string {
	t.Helper()
	p, err := k.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEnvelope: what was signed is what is read, and nothing else; sealed, only
// the recipient reads it.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	a, b, other := newKeys(t), newKeys(t), newKeys(t)
	h := Header{Team: "t", Kind: Mail, From: "a", To: "b", Epoch: "e-1", Seq: 7, ID: id(7)}
	for _, sealed := range []bool{false, true} {
		curve := ""
		if sealed {
			curve = public(t, b.Curve)
		}
		data, err := a.seal(h, []byte("the body\nof it"), curve)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("the body")) == sealed {
			t.Errorf("sealed %v: %q", sealed, data)
		}
		o, err := open(data)
		if err != nil || o.From != "a" || o.Seq != 7 || o.ID != id(7) || o.Sealed != sealed {
			t.Fatalf("%+v %v", o.Header, err)
		}
		if !o.signedBy(public(t, a.Sign)) || o.signedBy(public(t, b.Sign)) || o.signedBy("") {
			t.Error("the signature is anybody's")
		}
		body, err := o.unseal(b, public(t, a.Curve))
		if err != nil || string(body) != "the body\nof it" {
			t.Errorf("%q %v", body, err)
		}
		if _, err := o.unseal(other, public(t, a.Curve)); sealed && err == nil {
			t.Error("somebody else unsealed it")
		}
		for i := range data { // any byte changed: garbage, or not signed
			bad := slices.Clone(data)
			bad[i] ^= 1
			if o, err := open(bad); err == nil && o.signedBy(public(t, a.Sign)) && !bytes.Equal(o.signed, mustOpen(t, data).signed) {
				t.Fatalf("byte %d changed, and the signature still holds", i)
			}
		}
	}
}

func mustOpen(t *testing.T, data []byte) opened {
	t.Helper()
	o, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// FuzzOpen: whatever comes over the wire is taken apart without a crash.
func FuzzOpen(f *testing.F) {
	k := newKeys(f)
	data, err := k.seal(Header{Team: "t", Kind: Mail, From: "a", To: "b"}, []byte("x"), "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("{}\n\n"))
	f.Add([]byte("\n\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := open(data); err == nil {
			o.signedBy("UABC")
			unpack(o.body)
			readReport(o.body)
			readCard(o.body, "t", "a")
		}
	})
}

// TestCard: a card counts with its own key's signature, and a new key only if
// the one before vouches for it.
func TestCard(t *testing.T) {
	t.Parallel()
	old, fresh := newKeys(t), newKeys(t)
	about := About{V: 1, Team: "t", Station: "a", Key: public(t, fresh.Sign), At: time.Now(), Agents: []Agent{{Name: "ann", AID: "a-1"}}}
	older, other := newKeys(t), newKeys(t)
	for _, step := range [][2]Keys{{older, old}, {old, other}, {old, fresh}} { // one rotation was cut off
		r, err := vouch(step[0].Sign, public(t, step[1].Sign))
		if err != nil {
			t.Fatal(err)
		}
		about.Rotated = append(about.Rotated, r)
	}
	data, err := fresh.signCard(about)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readCard(data, "t", "a")
	if err != nil || !got.vouchedBy(public(t, older.Sign)) || !got.vouchedBy(public(t, old.Sign)) || got.vouchedBy(public(t, other.Sign)) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := readCard(data, "t", "b"); err == nil {
		t.Error("it passes for another station's")
	}
	forged, _ := old.signCard(about)
	if _, err := readCard(forged, "t", "a"); err == nil {
		t.Error("signed by another key than it names")
	}
	if _, err := readCard(bytes.Replace(data, []byte("ann"), []byte("bob"), 1), "t", "a"); err == nil {
		t.Error("changed, and still signed")
	}
}

// TestLocalise is how names of one station read at another.
func TestLocalise(t *testing.T) {
	t.Parallel()
	h := home{station: "b", office: "o-b", nameOf: func(aid string) (string, bool) {
		name, ok := map[string]string{"a-bob": "bob", "a-dave": "dave"}[aid]
		return name, ok
	}}
	for _, c := range []struct {
		name, from, to string
		cc             []string
		cargo          Cargo
		wantFrom       string
		wantTo         string
		wantCC         string
		refused        bool
	}{
		{"direct", "ann", "bob@b", nil, Cargo{Recipients: []string{"a-bob"}}, "ann@a", "bob", "", false},
		{"by an old name", "ann", "robert@b", nil, Cargo{Recipients: []string{"a-bob"}}, "ann@a", "bob", "", false},
		{"a plain name that is ours alone", "ann", "bob", nil, Cargo{Recipients: []string{"a-bob"}}, "ann@a", "bob", "", false},
		{"a copy of what went to a neighbour of hers", "ann", "carol", []string{"bob@b", "eve@c", "human"}, Cargo{CC: []string{"a-bob"}}, "ann@a", "carol@a", "bob eve@c human@a", false},
		{"to everybody", "ann", "broadcast", nil, Cargo{Recipients: []string{"a-bob", "a-dave"}}, "ann@a", "broadcast", "", false},
		{"to a channel of theirs", "ann", "team", nil, Cargo{Recipients: []string{"a-bob"}, Channel: "team"}, "ann@a", "team@a", "", false},
		{"to our person", "ann", "human@b", nil, Cargo{Recipients: []string{"human"}}, "ann@a", "human", "", false},
		{"from their person", "human", "bob@b", nil, Cargo{Recipients: []string{"a-bob"}}, "human@a", "bob", "", false},
		{"from their office", "postroom", "bob@b", nil, Cargo{Recipients: []string{"a-bob"}}, "postroom@a", "bob", "", false},
		{"to god, who is ours", "ann", "god", nil, Cargo{Recipients: []string{"a-bob"}}, "ann@a", "bob", "", false},
		{"in another station's name", "eve@c", "bob@b", nil, Cargo{Recipients: []string{"a-bob"}}, "", "", "", true},
		{"in our own name", "dave@b", "bob@b", nil, Cargo{Recipients: []string{"a-bob"}}, "", "", "", true},
		{"from nobody", "", "bob@b", nil, Cargo{Recipients: []string{"a-bob"}}, "", "", "", true},
		{"to nonsense", "ann", "../x", nil, Cargo{Recipients: []string{"a-x", "a-y"}}, "", "", "", true},
		{"a channel named with a slash", "ann", "team", nil, Cargo{Recipients: []string{"a-bob"}, Channel: "a/b"}, "", "", "", true},
	} {
		m := &mail.Message{ID: id(1), From: c.from, To: c.to, CC: c.cc, Office: "o-a", Body: "x"}
		got, err := h.localise(m, c.cargo, "a")
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil {
			continue
		}
		if got.From != c.wantFrom || got.To != c.wantTo || strings.Join(got.CC, " ") != c.wantCC || got.Office != "o-b" || got.Station != "a" {
			t.Errorf("%s: from %q to %q cc %q office %q station %q", c.name, got.From, got.To, got.CC, got.Office, got.Station)
		}
		if slices.Contains(got.Envelope.Recipients, "human") {
			t.Errorf("%s: a person has a mailbox", c.name)
		}
	}
}
