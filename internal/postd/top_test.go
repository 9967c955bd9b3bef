package postd

import (
	"encoding/json"
	"strings"
	"testing"
)

// Without a terminal one snapshot is printed, for people or as JSON.
func TestTopOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	p.ok("post", "send", "bob", "--as", "ann", "--act", "request", "-s", "Re\u202eview", "-m", "Do it.")
	p.ok("post", "send", "human", "--as", "bob", "--act", "query", "-s", "Ship it?", "-m", "Today?")
	for _, args := range [][]string{{"top"}, {"top", "--once"}} {
		out := p.ok("post", args...)
		for _, part := range []string{"waiting for a person\n", "Ship it?", "\nagents\n", "ann", "\nmoving\n", "ann → bob", "bob → human", "overdue: nothing"} {
			if !strings.Contains(out, part) {
				t.Errorf("%v: no %q in\n%s", args, part, out)
			}
		}
		if strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, "Re[U+202E]view") {
			t.Errorf("%q", out)
		}
	}
	var v struct {
		V         int
		Office    string
		OfficeID  string `json:"office_id"`
		Approvals []struct{ ID, Subject, Kind string }
		Agents    []struct {
			Name         string
			Unread, Owes int
		}
		Moves  []struct{ Event, From, To, Subject string }
		Owed   []struct{ Debtor, Creditor string }
		Faults []string
	}
	if err := json.Unmarshal([]byte(p.ok("post", "top", "--json")), &v); err != nil {
		t.Fatal(err)
	}
	if v.V != 1 || v.Office != p.dir || v.OfficeID == "" || len(v.Approvals) != 1 || v.Approvals[0].Subject != "Ship it?" || len(v.Agents) != 2 ||
		v.Agents[1].Unread != 1 || v.Agents[1].Owes != 1 || len(v.Moves) != 2 || v.Moves[0].To != "human" || len(v.Owed) != 1 || v.Owed[0].Debtor != "bob" || v.Faults == nil {
		t.Errorf("%+v", v)
	}
}

func TestTopIsAPersons(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"top", "--as", "ann"}, 5, "the floor is a person's"},
		{[]string{"top", "x"}, 2, "does not know what to do with x"},
		{[]string{"top", "--office", p.root}, 5, ""},
	} {
		if code, out, said := p.run("post", c.args...); code != c.code || !strings.Contains(said, c.says) || out != "" {
			t.Errorf("%v: exit %d, %s%s", c.args, code, out, said)
		}
	}
	if !topCommand().Person {
		t.Error("an agent's session may decide")
	}
}
