package policy

import "testing"

func TestCanonical(t *testing.T) {
	t.Parallel()
	b := newBook("coder", "boss", "bob@lab", "coder@lab", "ann@lab", "ann@zoo", "-gone@lab").channel("team", "coder", "bob@lab")
	w := World{Directory: b, Settings: Settings{Station: "us", Orchestrator: "boss"}}
	for in, want := range map[string]string{
		"coder": "coder", "coder@us": "coder", "coder@lab": "coder@lab", "bob": "bob@lab", "agent.bob": "bob@lab", "agent.coder": "agent.coder",
		"human": "human", "human@us": "human", "human@lab": "human@lab", "all": "all", "god": "boss", "team": "team", "team@us": "team",
		"ann": "ann", "nobody": "nobody", "gone": "gone", "Not a name": "Not a name", "x@y@z": "x@y@z", "": "",
	} {
		if got := Canonical(in, w); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	w.Settings.Station = ""
	for _, same := range []string{"coder@us", "bob", "god", "human@us"} {
		if got := Canonical(same, w); got != same {
			t.Errorf("not linked: %q became %q", same, got)
		}
	}
}
