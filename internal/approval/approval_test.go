package approval

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

func TestIDFor(t *testing.T) {
	t.Parallel()
	id := IDFor(policy.Question, msgA, "")
	if !ValidID(id) {
		t.Fatalf("%q is not valid", id)
	}
	if id != IDFor(policy.Question, msgA, "") {
		t.Error("the same cause gave two ids")
	}
	seen := map[string]bool{id: true}
	for _, other := range []string{
		IDFor(policy.Notice, msgA, ""), IDFor(policy.Question, msgB, ""), IDFor(policy.Question, msgA, "overdue:a-1"),
	} {
		if seen[other] {
			t.Errorf("%s twice", other)
		}
		seen[other] = true
	}
	for _, bad := range []string{"", "ap-", "ap-012345678", "ap-0123456789a", "ap-012345678G", "../approvals", "AP-0123456789"} {
		if ValidID(bad) {
			t.Errorf("%q is valid", bad)
		}
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	t.Parallel()
	m := office(t)
	a := question(msgA)
	a.Extra = map[string]json.RawMessage{"later": json.RawMessage(`{"x":[1,2]}`), "Body": json.RawMessage(`"not ours"`), "v": json.RawMessage(`7`)}
	id := create(t, m, a)
	if err := Decide(m, id, by("ann", "yes")); err != nil {
		t.Fatal(err)
	}
	got, _, err := Get(m, id)
	if err != nil {
		t.Fatal(err)
	}
	delete(a.Extra, "v")
	for name, raw := range got.Extra {
		var compact, want any
		if json.Unmarshal(raw, &compact) != nil || json.Unmarshal(a.Extra[name], &want) != nil || !reflect.DeepEqual(compact, want) {
			t.Errorf("%s became %s", name, raw)
		}
	}
	if len(got.Extra) != 2 || got.Body != a.Body {
		t.Errorf("extra %v, body %q", got.Extra, got.Body)
	}
	got.Extra, a.Extra = nil, nil
	if !reflect.DeepEqual(got, a) {
		t.Errorf("got  %+v\nwant %+v", got, a)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Approval){
		"no message":            func(a *Approval) { a.Message = "" },
		"unknown kind":          func(a *Approval) { a.Kind = "vote" },
		"must expire":           func(a *Approval) { a.Expires = time.Time{} },
		"no creation time":      func(a *Approval) { a.Created = time.Time{} },
		"does not belong":       func(a *Approval) { a.ID = "ap-0123456789" },
		"malformed ask key":     func(a *Approval) { a.AskKey = "../../registry" },
		"unknown kind \"a\\n\"": func(a *Approval) { a.Kind = "a\n" },
	} {
		a := question(msgA)
		spoil(a)
		_, err := Create(office(t), a)
		wantKind(t, err, mail.KindInvalid)
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not say %q", err, name)
		}
	}
}

func FuzzParse(f *testing.F) {
	a := question(msgA)
	a.V, a.ID = Version, IDFor(a.Kind, a.Message, a.Cause)
	open, _ := file(a)
	closed, _ := file(Closed{Approval: *a, Decision: Decision{Verdict: VerdictAnswered, By: "ann", At: noon()}})
	f.Add(open)
	f.Add(closed)
	f.Add([]byte(`null`))
	f.Add([]byte(`{"v":1,"V":2,"v":3,"extra":null,"options":[null]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseClosed(a.ID, b)
		var got Approval
		if json.Unmarshal(b, &got) != nil {
			return
		}
		again, err := file(got)
		if err != nil {
			return // a time that the format cannot hold
		}
		var second Approval
		if err := json.Unmarshal(again, &second); err != nil {
			t.Fatalf("%v in %s", err, again)
		}
		third, err := file(second)
		if err != nil || string(third) != string(again) {
			t.Fatalf("not stable: %v\n%s\n%s", err, again, third)
		}
	})
}
