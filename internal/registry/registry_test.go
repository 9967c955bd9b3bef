package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/vfs"
)

func newMem() *vfs.Mem {
	return vfs.NewMem(func() time.Time { return time.Date(2026, 5, 30, 14, 3, 11, 0, time.UTC) })
}

func entry(name string) Entry {
	return Entry{AID: "a-" + strings.ReplaceAll(name, ".", "_"), Name: name, InboxPath: "/office/agents/" + name + "/inbox"}
}

// office returns a saved registry with the named agents.
func office(t *testing.T, names ...string) (*vfs.Mem, *Registry) {
	t.Helper()
	m := newMem()
	r, err := Create(m)
	for _, n := range names {
		if err == nil {
			err = r.Add(entry(n))
		}
	}
	if err == nil {
		err = r.Save(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func put(t *testing.T, m vfs.FS, content string) {
	t.Helper()
	f, err := m.OpenFile(File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, m vfs.FS) string {
	t.Helper()
	raw, err := readAll(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func mustLoad(t *testing.T, m vfs.FS) *Registry {
	t.Helper()
	r, err := Load(m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantKind(t *testing.T, err error, kind mail.Kind, text string) {
	t.Helper()
	var e *mail.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(err.Error(), text) {
		t.Fatalf("got %v (%s), want %s with %q", err, mail.KindOf(err), kind, text)
	}
}

func TestLookups(t *testing.T) {
	t.Parallel()
	m, r := office(t, "ann", "anna", "v1.2", "v1x2")
	if err := errors.Join(r.Rename("a-ann", "annette"), r.Archive("a-v1_2", true), r.Save(m)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Registry{r, mustLoad(t, m)} {
		if r.Edited() {
			t.Error("a saved registry counts as edited")
		}
		for name, aid := range map[string]string{
			"ann": "a-ann", "annette": "a-ann", "anna": "a-anna", "v1.2": "a-v1_2", "v1x2": "a-v1x2",
			"an": "", "ANN": "", "": "", `ann","x`: "", "annett": "", "nobody": "",
		} {
			a, ok := r.Agent(name)
			e, eok := r.Entry(name)
			if ok != (aid != "") || eok != ok || a.AID != aid || e.AID != aid {
				t.Errorf("%q is %v %v, want aid %q", name, a, e, aid)
			}
		}
		want := policy.Agent{Name: "annette", AID: "a-ann", Transcript: "_inbox_ann.md"}
		if a, ok := r.ByAID("a-ann"); !ok || a != want {
			t.Errorf("by aid: %+v", a)
		}
		var active []string
		for _, a := range r.Active() {
			active = append(active, a.Name)
		}
		if want := []string{"anna", "annette", "v1x2"}; !slices.Equal(active, want) {
			t.Errorf("active %v, want %v", active, want)
		}
		if r.Len() != 4 {
			t.Errorf("%d agents", r.Len())
		}
		for skip, want := range map[uint64]string{0: "annette anna", 1: "anna v1x2", 2: "v1x2 annette", 3: "annette anna", 1 << 63: "v1x2 annette"} {
			if got := names(r.Some(skip, 2)); got != want {
				t.Errorf("two behind %d are %q, want %q", skip, got, want)
			}
		}
		if got := names(r.Some(1, 9)); got != "anna v1x2 annette" {
			t.Errorf("nine behind 1 are %q", got)
		}
		if got := r.Some(5, 0); got != nil {
			t.Errorf("none are %v", got)
		}
		if got := r.Suggest("anma"); len(got) == 0 || got[0] != "anna" {
			t.Errorf("suggest %v", got)
		}
		if len(r.Entries()) != 4 {
			t.Errorf("entries %v", r.Entries())
		}
	}
}

func TestNamesAreTakenForEver(t *testing.T) {
	t.Parallel()
	_, r := office(t, "coder", "tester", "old")
	steps := []error{
		r.Rename("a-coder", "builder"), r.Archive("a-old", true),
		r.AddChannel("team", "a-tester", "a-coder"), r.AddChannel("gone", "a-old"), r.RemoveChannel("gone"),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"builder", "coder", "old", "team", "gone"} {
		wantKind(t, r.Add(Entry{AID: "a-new", Name: name, InboxPath: "/x/inbox"}), mail.KindConflict, "")
		if name != "gone" {
			wantKind(t, r.AddChannel(name, "a-old"), mail.KindConflict, "taken")
		}
		if name != "builder" && name != "coder" {
			wantKind(t, r.Rename("a-coder", name), mail.KindConflict, "")
		}
	}
	wantKind(t, r.Add(Entry{AID: "a-old", Name: "fresh", InboxPath: "/x/inbox"}), mail.KindConflict, "aid")
	wantKind(t, r.Add(Entry{AID: "a-x", Name: "fresh", InboxPath: "/office/agents/old/inbox"}), mail.KindInvalid, "same inbox_path")
	wantKind(t, r.Add(Entry{AID: "a-x", Name: "human", InboxPath: "/x/inbox"}), mail.KindInvalid, "reserved")
	wantKind(t, r.Add(Entry{AID: "a/x", Name: "fresh", InboxPath: "/x/inbox"}), mail.KindInvalid, "aid")
	wantKind(t, r.Add(Entry{AID: "a-x", Name: "fresh", InboxPath: "agents/x/inbox"}), mail.KindInvalid, "absolute")
	wantKind(t, r.Add(Entry{AID: "a-x", Name: "fresh", InboxPath: "/x/inbox", Transcript: "../x"}), mail.KindInvalid, "file name")
	if err := r.Rename("a-coder", "coder"); err != nil {
		t.Errorf("an agent's own alias is refused: %v", err)
	}
	if e, _ := r.Entry("builder"); e.Name != "coder" || !slices.Equal(e.Aliases, []string{"builder"}) {
		t.Errorf("after renaming back: %+v", e)
	}
	if err := r.AddChannel("gone", "a-old"); err != nil {
		t.Errorf("a channel may come back: %v", err)
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	m, r := office(t, "a1", "b1", "c1")
	if err := r.AddChannel("team", "a-b1", "a-a1", "a-b1"); err != nil {
		t.Fatal(err)
	}
	wantKind(t, r.AddChannel("same", "a-a1", "a-b1"), mail.KindConflict, "channel team has the same members")
	wantKind(t, r.AddChannel("lost", "a-nobody"), mail.KindInvalid, "no agent has the aid")
	wantKind(t, r.AddMember("nowhere", "a-a1"), mail.KindNotFound, "no such channel")
	wantKind(t, r.RemoveMember("team", "a-c1"), mail.KindNotFound, "no member")
	wantKind(t, r.RemoveChannel("nowhere"), mail.KindNotFound, "")
	if err := errors.Join(r.AddChannel("all3", "a-c1"), r.AddMember("all3", "a-b1"), r.Save(m)); err != nil {
		t.Fatal(err)
	}
	wantKind(t, errors.Join(r.AddMember("all3", "a-a1"), r.RemoveMember("all3", "a-c1")), mail.KindConflict, "team")
	got, ok := mustLoad(t, m).Channel("team")
	if want := (policy.Channel{Name: "team", Members: []string{"a-a1", "a-b1"}}); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := r.RemoveMember("team", "a-b1"); err != nil {
		t.Fatal(err)
	}
	if c, _ := r.Channel("team"); !slices.Equal(c.Members, []string{"a-a1"}) {
		t.Errorf("members %v", c.Members)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	m, r := office(t, "coder")
	err := r.Update("a-coder", func(e *Entry) { e.Role, e.Launch = `says "hi" <&> 🙂`, []string{"sh", "-c", "a\nb"} })
	if err == nil {
		err = r.Save(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, r.Update("a-coder", func(e *Entry) { e.Name = "x" }), mail.KindInvalid, "may not touch")
	wantKind(t, r.Update("a-coder", func(e *Entry) { e.Aliases = []string{"x"} }), mail.KindInvalid, "may not touch")
	wantKind(t, r.Update("a-none", func(*Entry) {}), mail.KindNotFound, "")
	wantKind(t, r.Update("a-coder", func(e *Entry) { e.Launch[0] = "\xff" }), mail.KindInvalid, "UTF-8")
	for _, r := range []*Registry{r, mustLoad(t, m)} {
		e, _ := r.Entry("coder")
		if e.Role != `says "hi" <&> 🙂` || !slices.Equal(e.Launch, []string{"sh", "-c", "a\nb"}) || e.Name != "coder" {
			t.Errorf("got %+v", e)
		}
	}
}

const byHand = `{
  "format": 1,
  "agents": [
    {"name": "coder", "aid": "a-1", "inbox_path": "/o/coder/inbox", "colour": {"x": [1,
      2]}},
    {"aid": "a-2", "name": "tester", "inbox_path": "/o/tester/inbox", "archived": true, "aliases": ["old"]}
  ],
  "channels": [{"name": "team", "members": ["a-2", "a-1"], "topic": "x"}],
  "owner": "somebody"
}`

func TestEditedByHand(t *testing.T) {
	t.Parallel()
	m := newMem()
	put(t, m, byHand)
	r := mustLoad(t, m)
	if !r.Edited() {
		t.Error("not seen as edited")
	}
	if err := r.Save(m); err != nil {
		t.Fatal(err)
	}
	r = mustLoad(t, m)
	e, _ := r.Entry("coder")
	if r.Edited() || string(e.Extra["colour"]) != `{"x":[1,2]}` || e.InboxPath != "/o/coder/inbox" {
		t.Errorf("after saving: edited %v, %+v", r.Edited(), e)
	}
	if a, ok := r.Agent("old"); !ok || a.Name != "tester" || !a.Archived {
		t.Errorf("alias: %+v", a)
	}
	if c := r.Channels(); len(c) != 1 || string(c[0].Extra["topic"]) != `"x"` || !slices.Equal(c[0].Members, []string{"a-1", "a-2"}) {
		t.Errorf("channels: %+v", c)
	}
	if got := content(t, m); !strings.Contains(got, `"owner":"somebody",`) {
		t.Errorf("unknown field gone:\n%s", got)
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ from, to, want string }{
		"name twice":      {`"name": "tester"`, `"name": "coder"`, "line 6"},
		"alias taken":     {`["old"]`, `["coder"]`, "line 6"},
		"aid twice":       {`"aid": "a-2"`, `"aid": "a-1"`, "line 6"},
		"inbox twice":     {`/o/tester/inbox`, `/o/coder/inbox`, "same inbox_path"},
		"channel name":    {`"name": "team"`, `"name": "coder"`, "line 8"},
		"unknown member":  {`"a-2", "a-1"`, `"a-9"`, "line 8"},
		"member twice":    {`"a-2", "a-1"`, `"a-1", "a-1"`, "line 8"},
		"key twice":       {`"archived": true`, `"archived": true, "archived": false`, "stands twice"},
		"section twice":   {`"owner": "somebody"`, `"agents": []`, "stands twice"},
		"wrong type":      {`"archived": true`, `"archived": "yes"`, "line 6"},
		"no comma":        {`]}},`, `]}}`, "line"},
		"relative inbox":  {`/o/coder/inbox`, `coder/inbox`, "not an absolute"},
		"bad name":        {`"name": "coder"`, `"name": "Coder"`, "not a name"},
		"no agents":       {`"agents"`, `"agent"`, "missing"},
		"no format":       {`"format": 1,`, ``, "missing"},
		"more behind":     {"\"owner\": \"somebody\"\n}", "\"owner\": \"somebody\"\n}}", ""},
		"null":            {byHand, "null", "where { belongs"},
		"empty":           {byHand, "", "EOF"},
		"zeros":           {byHand, strings.Repeat("\x00", 500), "invalid"},
		"list":            {byHand, "[]", "where { belongs"},
		"BOM":             {byHand, "\ufeff" + byHand, "invalid"},
		"invalid UTF-8":   {"somebody", "some\xffbody", "UTF-8"},
		"agents no list":  {byHand, `{"format":1,"agents":{}}`, "where [ belongs"},
		"agent no object": {byHand, `{"format":1,"agents":[7]}`, "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMem()
			bad := strings.Replace(byHand, test.from, test.to, 1)
			put(t, m, bad)
			_, err := Load(m)
			wantKind(t, err, mail.KindCorrupt, test.want)
			if content(t, m) != bad {
				t.Error("the file was changed")
			}
		})
	}
	m := newMem()
	_, err := Load(m)
	wantKind(t, err, mail.KindCorrupt, "restore")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	put(t, m, strings.Replace(byHand, `"format": 1`, `"format": 2`, 1))
	_, err = Load(m)
	wantKind(t, err, mail.KindForeign, "newer version")
}

func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	m, r := office(t, "a1", "b1", "c1")
	if err := errors.Join(r.AddChannel("team", "a-a1", "a-b1"), r.Save(m)); err != nil {
		t.Fatal(err)
	}
	whole := content(t, m)
	for n := range len(whole) {
		put(t, m, whole[:n])
		r, err := Load(m)
		if n == len(whole)-1 { // only the last line feed is gone: still the whole JSON
			if err != nil || !r.Edited() || len(r.Entries()) != 3 {
				t.Fatalf("without the last line feed: %v", err)
			}
			continue
		}
		wantKind(t, err, mail.KindCorrupt, "nothing was changed")
		put(t, m, whole[:n]+strings.Repeat("\x00", len(whole)-n))
		_, err = Load(m)
		wantKind(t, err, mail.KindCorrupt, "nothing was changed")
	}
}

// A changed byte is either found to be an edit or refused; what reads then is
// what the strict parser says.
func TestEveryByteChanged(t *testing.T) {
	t.Parallel()
	m, _ := office(t, "a1", "b1")
	whole := content(t, m)
	for i := range len(whole) {
		changed := []byte(whole)
		changed[i] ^= 1
		put(t, m, string(changed))
		if r, err := Load(m); err == nil && !r.Edited() {
			t.Fatalf("byte %d changed, not noticed", i)
		}
	}
}

func TestCreateOnce(t *testing.T) {
	t.Parallel()
	m, _ := office(t, "coder")
	_, err := Create(m)
	wantKind(t, err, mail.KindConflict, "use the office")
	if _, ok := mustLoad(t, m).Agent("coder"); !ok {
		t.Error("the registry was replaced")
	}
}

func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	m, _ := office(t, "coder", "tester")
	r := mustLoad(t, m)
	if err := r.Archive("a-coder", true); err != nil {
		t.Fatal(err)
	}
	r.doc.agents = r.doc.agents[:1] // a fault of ours
	r.set(encode(r.doc))
	wantKind(t, r.Save(m), mail.KindCorrupt, "has 2 agents, would have 1")

	r = mustLoad(t, m)
	if err := r.Archive("a-coder", true); err != nil {
		t.Fatal(err)
	}
	put(t, m, byHand)
	wantKind(t, r.Save(m), mail.KindConflict, "changed since")
	if content(t, m) != byHand {
		t.Error("a person's edit was written over")
	}
}

// An entry that is read after the file was edited in place is the new one or
// none, never a mixture.
func TestEntryAfterEditInPlace(t *testing.T) {
	t.Parallel()
	m, _ := office(t, "coder", "tester")
	r := mustLoad(t, m)
	put(t, m, strings.Replace(byHand, `"a-1"`, `"a-coder"`, 2))
	if e, ok := r.Entry("coder"); !ok || e.InboxPath != "/o/coder/inbox" {
		t.Errorf("got %+v %v", e, ok)
	}
	put(t, m, "{")
	if e, ok := r.Entry("coder"); ok {
		t.Errorf("got %+v", e)
	}
	wantKind(t, r.Archive("a-coder", true), mail.KindCorrupt, "")
}

func TestSaveCrash(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		m, r := office(t, "coder")
		m.SyncAll()
		if err := r.Add(entry("tester")); err != nil {
			t.Fatal(err)
		}
		f := &vfs.Fault{}
		f.CrashAfter(n)
		crashed := vfs.Crashed(func() {
			if err := r.Save(f.Wrap(m)); err != nil {
				t.Error(err)
			}
		})
		for s := range m.CrashStates(1000) {
			after, err := Load(s)
			if err != nil {
				t.Fatalf("crash after %v: %v\n%v", f.Calls(), err, s)
			}
			names := len(after.Entries())
			if names != 1 && names != 2 || !crashed && names != 2 {
				t.Fatalf("crash after %v: %d agents", f.Calls(), names)
			}
			if err := errors.Join(after.Archive("a-coder", true), after.Save(s)); err != nil {
				t.Fatalf("saving after a crash after %v: %v", f.Calls(), err)
			}
		}
		if !crashed {
			return
		}
	}
}

func TestSaveFaults(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		m, r := office(t, "coder")
		if err := r.Add(entry("tester")); err != nil {
			t.Fatal(err)
		}
		f := &vfs.Fault{}
		f.FailAt(n, errors.New("no space left on device"))
		err := r.Save(f.Wrap(m))
		if len(f.Calls()) < n {
			return
		}
		after := mustLoad(t, m)
		if _, ok := after.Agent("tester"); err == nil && !ok {
			t.Fatalf("call %d failed: reported as saved, was not", n)
		}
		if _, ok := after.Agent("coder"); !ok {
			t.Fatalf("call %d failed: the roster is gone", n)
		}
	}
}

func TestManyAgents(t *testing.T) {
	t.Parallel()
	m := newMem()
	d := &document{}
	for i := range 300 {
		d.agents = append(d.agents, benchEntry(i))
	}
	d.agents[7].Role = strings.Repeat("long ", loadChunk/2) // a line over several chunks
	d.agents[8].Extra = map[string]jsonRaw{"x": jsonRaw(fmt.Sprintf("%q", strings.Repeat("y", 3*loadChunk)))}
	put(t, m, string(encode(d)))
	r := mustLoad(t, m)
	if r.Edited() || r.raw != nil {
		t.Fatal("canonical lines were not taken as such")
	}
	if got := r.Entries(); !reflect.DeepEqual(got, d.agents) {
		t.Error("entries differ")
	}
}

func names(agents []policy.Agent) string {
	var list []string
	for _, a := range agents {
		list = append(list, a.Name)
	}
	return strings.Join(list, " ")
}
