package config

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

var noon = time.Date(2026, 5, 30, 12, 0, 0, 0, time.UTC)

func TestOfficeRoundTrip(t *testing.T) {
	t.Parallel()
	o := New("post 0.1.0", PersonCheckEnv, noon)
	o.Name, o.Machine, o.Inode = `a "quoted" \name`+"\t→", "m-1", 4711
	o.Policy.Due, o.Policy.Audit, o.Policy.Arrow = "90m", "git", "->"
	data, err := o.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeOffice(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if len(got.Unknown) != 0 || !got.Created.Equal(o.Created) {
		t.Fatalf("%+v", got)
	}
	again, err := got.Encode()
	if err != nil || string(again) != string(data) {
		t.Fatalf("%v\n%s\nthen\n%s", err, data, again)
	}
}

func TestOfficeByHand(t *testing.T) {
	t.Parallel()
	o, err := DecodeOffice([]byte("format=1 # one\r\noffice = 'o-1'\n\n[ policy ] # rules\nhop_cap = 1_0\n\tdue = \"2h\" # two hours\nlater = true\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := o.Settings()
	if err != nil || s.HopCap != 10 || s.Due != 2*time.Hour || o.PersonCheck != PersonCheckFull || o.Policy.FuseTurns != 24 {
		t.Fatalf("%+v %+v %v", o, s, err)
	}
	if len(o.Unknown) != 1 || o.Unknown[0] != "policy.later" {
		t.Fatalf("unknown: %q", o.Unknown)
	}
}

func TestOfficeErrors(t *testing.T) {
	t.Parallel()
	head := "format = 1\noffice = \"o-1\"\n"
	for _, tt := range []struct{ text, want string }{
		{"", "format, office"},
		{"format = 1\n", "missing"},
		{"format = 2\noffice = \"o-1\"\n", "newer format"},
		{head + "person_check = \"no\"\n", "person_check"},
		{head + "[policy]\ndue = \"soon\"\n", "due is not a duration"},
		{head + "[policy]\ndue = 90\n", "line 4: policy.due has a value of the wrong kind"},
		{head + "[policy]\nhop_cap = \"12\"\n", "line 4"},
		{head + "[policy]\nhop_cap = -1\n", "line 4"},
		{head + "[policy]\nhop_cap = 0\n", "at least 1"},
		{head + "[policy]\narrow = \"=>\"\n", "arrow"},
		{head + "[policy]\naudit = \"svn\"\n", "audit"},
		{head + "[policy\n", "line 3"},
		{head + "[policy]\n[policy]\n", "line 4"},
		{head + "format = 1\n", "twice"},
		{head + "due\n", "line 3"},
		{head + "name = \"a\" b\n", "behind its string or list"},
		{head + "name = \"a\n", "without an end"},
		{head + "name = 'a\n", "without an end"},
		{head + "name = \"\\q\"\n", "escape"},
		{head + "name = \"\\uD800\"\n", "escape"},
		{head + "name = [1]\n", "list"},
		{head + "name = yes\n", "neither"},
		{head + "name =\n", "no value"},
		{head + "a.b = 1\n", "line 3"},
		{head + "name = \"\xff\"\n", "UTF-8"},
	} {
		_, err := DecodeOffice([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q in it", tt.text, err, tt.want)
		}
		if k := mail.KindOf(err); k != mail.KindCorrupt && k != mail.KindForeign {
			t.Errorf("%q: kind %q", tt.text, k)
		}
	}
}

func FuzzOffice(f *testing.F) {
	data, err := New("post", PersonCheckOff, noon).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("format = 1\noffice = 'x'\n[policy]\ndue = \"\\u0041\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := DecodeOffice(data)
		if err != nil {
			return
		}
		first, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeOffice(first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second, _ := back.Encode(); string(second) != string(first) {
			t.Fatalf("%s\n%s", first, second)
		}
	})
}
