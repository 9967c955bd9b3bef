package config

import (
	"strings"
	"testing"
	"time"
)

func TestSetStation(t *testing.T) {
	t.Parallel()
	o := New("post test", PersonCheckOff, time.Unix(0, 0))
	data, err := o.Encode()
	if err != nil {
		t.Fatal(err)
	}
	text := string(data) + "# mine\n[later]\nstation = \"not this\"\n"
	linked, err := SetStation([]byte(text), "ann-laptop")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := DecodeOffice(linked)
	if err != nil || cfg.Station != "ann-laptop" {
		t.Fatal(cfg.Station, err)
	}
	if s, _ := cfg.Settings(); s.Station != "ann-laptop" {
		t.Fatal(s.Station)
	}
	again, err := SetStation(linked, "lab")
	if err != nil || strings.Count(string(again), "\nstation =") != 2 {
		t.Fatalf("%v\n%s", err, again)
	}
	if none, err := SetStation(again, ""); err != nil || string(none) != text {
		t.Fatalf("%v\n%s\nwant\n%s", err, none, text)
	}
	if out, err := cfg.Encode(); err != nil || !strings.Contains(string(out), "station = \"ann-laptop\"\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, bad := range []string{"Ann", "ann.laptop", "human", "a b"} {
		if _, err := SetStation([]byte(text), bad); err == nil {
			t.Errorf("%q became a station", bad)
		}
	}
}
