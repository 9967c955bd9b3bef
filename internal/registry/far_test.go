package registry

import (
	"testing"

	"github.com/postroom/postroom/internal/mail"
)

func farEntry(name, aid string) Entry {
	return Entry{AID: aid, Name: name, InboxPath: "/office/agents/" + name + "/inbox"}
}

func TestPutFar(t *testing.T) {
	t.Parallel()
	m, r := office(t, "coder", "bob")
	changed, refused, err := r.PutFar("lab", []Entry{farEntry("bob@lab", "l-bob"), farEntry("human@lab", "far-human-lab")})
	if err != nil || !changed || len(refused) > 0 {
		t.Fatal(changed, refused, err)
	}
	if err := r.Save(m); err != nil {
		t.Fatal(err)
	}
	r = mustLoad(t, m)
	a, ok := r.Agent("bob@lab")
	if !ok || a.Station != "lab" || !a.Far() || a.AID != "l-bob" || a.Transcript != "_inbox_bob@lab.md" {
		t.Fatalf("%+v", a)
	}
	if e, ok := r.Entry("bob@lab"); !ok || e.Station != "lab" {
		t.Fatalf("%+v", e)
	}
	if a, _ := r.Agent("bob"); a.Far() {
		t.Fatalf("bob of ours is far: %+v", a)
	}
	if list := r.Namesakes("bob"); len(list) != 1 || list[0].Name != "bob@lab" {
		t.Fatalf("%+v", list)
	}
	if list := r.Namesakes("bo"); len(list) != 0 {
		t.Fatalf("%+v", list)
	}
	if changed, _, err := r.PutFar("lab", []Entry{farEntry("bob@lab", "l-bob"), farEntry("human@lab", "far-human-lab")}); err != nil || changed {
		t.Fatal("a repeat changed something", err)
	}

	renamed := farEntry("robert@lab", "l-bob")
	renamed.Role = "reviews"
	if changed, refused, err := r.PutFar("lab", []Entry{renamed}); err != nil || !changed || len(refused) > 0 {
		t.Fatal(changed, refused, err)
	}
	e, _ := r.Entry("bob@lab")
	if e.Name != "robert@lab" || e.Role != "reviews" || e.Transcript != "_inbox_bob@lab.md" {
		t.Fatalf("%+v", e)
	}
	for _, name := range []string{"bob", "robert"} {
		if list := r.Namesakes(name); len(list) != 1 || list[0].Name != "robert@lab" {
			t.Fatalf("%s: %+v", name, list)
		}
	}
	if e, _ := r.Entry("human@lab"); !e.Archived {
		t.Fatal("who is no longer listed is still in service")
	}
	if err := r.Save(m); err != nil {
		t.Fatal(err)
	}
	if mustLoad(t, m).Edited() {
		t.Fatal("what was saved is not canonical")
	}
}

// What a station says may not touch an agent of ours or of another station.
func TestPutFarRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		list []Entry
		kind mail.Kind
		text string
	}{
		"our aid":          {[]Entry{farEntry("eve@lab", "a-coder")}, mail.KindConflict, "coder's"},
		"a third's aid":    {[]Entry{farEntry("eve@lab", "z-ann")}, mail.KindConflict, "ann@zoo's"},
		"our name":         {[]Entry{farEntry("coder", "l-x")}, mail.KindInvalid, "coder"},
		"a third's name":   {[]Entry{farEntry("eve@zoo", "l-x")}, mail.KindInvalid, "eve@zoo"},
		"another's name":   {[]Entry{farEntry("bob@lab", "l-new"), farEntry("bob@lab", "l-bob")}, mail.KindConflict, "another agent"},
		"one aid twice":    {[]Entry{farEntry("x@lab", "l-x"), farEntry("y@lab", "l-x")}, mail.KindConflict, "twice"},
		"no name":          {[]Entry{farEntry("@lab", "l-x")}, mail.KindInvalid, "name"},
		"a reserved name":  {[]Entry{farEntry("broadcast@lab", "l-x")}, mail.KindInvalid, "broadcast"},
		"a path":           {[]Entry{farEntry("../x@lab", "l-x")}, mail.KindInvalid, "name"},
		"a strange aid":    {[]Entry{farEntry("x@lab", "../x")}, mail.KindInvalid, "aid"},
		"a name in a name": {[]Entry{farEntry("x@y@lab", "l-x")}, mail.KindInvalid, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, r := office(t, "coder")
			for station, e := range map[string]Entry{"lab": farEntry("bob@lab", "l-bob"), "zoo": farEntry("ann@zoo", "z-ann")} {
				if _, refused, err := r.PutFar(station, []Entry{e}); err != nil || len(refused) > 0 {
					t.Fatal(refused, err)
				}
			}
			_, refused, err := r.PutFar("lab", append(c.list, farEntry("good@lab", "l-good")))
			if err != nil || len(refused) != 1 {
				t.Fatal(refused, err)
			}
			wantKind(t, refused[0], c.kind, c.text)
			if _, ok := r.Agent("good@lab"); !ok {
				t.Fatal("one refusal stopped the others")
			}
			if a, _ := r.Agent("coder"); a.AID != "a-coder" {
				t.Fatalf("%+v", a)
			}
			if a, _ := r.Agent("ann@zoo"); a.AID != "z-ann" || a.Archived {
				t.Fatalf("%+v", a)
			}
		})
	}
}

// Only the link names far agents, and a name with a station is theirs alone.
func TestFarNames(t *testing.T) {
	t.Parallel()
	m, r := office(t, "coder")
	wantKind(t, r.Add(entry("coder@lab")), mail.KindInvalid, "coder@lab")
	if _, _, err := r.PutFar("lab", []Entry{farEntry("bob@lab", "l-bob")}); err != nil {
		t.Fatal(err)
	}
	wantKind(t, r.Rename("l-bob", "bob"), mail.KindRule, "another station")
	wantKind(t, r.Rename("a-coder", "coder@lab"), mail.KindInvalid, "coder@lab")
	wantKind(t, r.Update("a-coder", func(e *Entry) { e.Station = "lab" }), mail.KindInvalid, "station")
	wantKind(t, r.AddChannel("team@lab"), mail.KindInvalid, "team@lab")
	if err := r.AddChannel("team", "a-coder", "l-bob"); err != nil {
		t.Fatal(err)
	}
	if err := r.Save(m); err != nil {
		t.Fatal(err)
	}
	text := content(t, m)
	for _, bad := range []string{
		`{"format":1,"agents":[{"aid":"a-1","name":"bob@lab","inbox_path":"/o/a/inbox"}]}`,
		`{"format":1,"agents":[{"aid":"a-1","name":"bob","station":"lab","inbox_path":"/o/a/inbox"}]}`,
		`{"format":1,"agents":[{"aid":"a-1","name":"bob@lab","station":"zoo","inbox_path":"/o/a/inbox"}]}`,
		`{"format":1,"agents":[{"aid":"a-1","name":"bob@lab","station":"lab","aliases":["rob"],"inbox_path":"/o/a/inbox"}]}`,
	} {
		put(t, m, bad)
		_, err := Load(m)
		wantKind(t, err, mail.KindCorrupt, "name")
	}
	put(t, m, text)
	mustLoad(t, m)
}

// TestStationMadeAnew: the agents of a station that was set up again have the
// old names under new aids; those before keep their mail and aids.
func TestStationMadeAnew(t *testing.T) {
	t.Parallel()
	m, r := office(t, "coder")
	if _, refused, err := r.PutFar("lab", []Entry{farEntry("bob@lab", "l-bob")}); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	again := farEntry("bob@lab", "m-bob")
	again.InboxPath = "/office/agents/bob@lab.m-bob/inbox"
	for range 2 {
		if _, refused, err := r.PutFar("lab", []Entry{again}); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	if err := r.Save(m); err != nil {
		t.Fatal(err)
	}
	r = mustLoad(t, m)
	now, _ := r.Entry("bob@lab")
	was, _ := r.EntryByAID("l-bob")
	if now.AID != "m-bob" || now.Archived || now.Transcript == was.Transcript || now.InboxPath == was.InboxPath {
		t.Errorf("now %+v", now)
	}
	if !was.Archived || was.Name == "bob@lab" || was.Station != "lab" || was.InboxPath != "/office/agents/bob@lab/inbox" || was.Transcript != "_inbox_bob@lab.md" {
		t.Errorf("was %+v", was)
	}
	if list := r.Namesakes("bob"); len(list) != 1 || list[0].AID != "m-bob" {
		t.Errorf("%+v", list)
	}
}
