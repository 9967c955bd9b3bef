package postd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSearchProcess: post becomes postd and finds what was sent, as a person and
// as an agent; the index is where it should be and nothing of it in the office.
func TestSearchProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob", "eve")
	p.ok("post", "send", "bob", "--as", "ann", "--act", "request", "-s", "Review the retry loop", "-m", "see retry.go \x1b[31m now")
	p.ok("post", "send", "ann", "--as", "eve", "-s", "lunch", "-m", "no retry today")

	out := p.ok("post", "search", "retry")
	if !strings.Contains(out, "Review the [retry] loop\n  see [retry].go ␛[31m now") || !strings.Contains(out, "no [retry] today") ||
		strings.Index(out, "lunch") > strings.Index(out, "Review") || !strings.HasPrefix(out, "<postroom-mail nonce=") {
		t.Error(out)
	}
	if out := p.ok("post", "search", "--as", "bob", "retry"); strings.Contains(out, "lunch") || !strings.Contains(out, "Review") {
		t.Errorf("bob sees\n%s", out)
	}
	if out := p.ok("post", "search", "the retry loop", "is:owed", "to:bob", "state:unread"); !strings.Contains(out, "Review [the retry loop]") {
		t.Error(out)
	}
	p.ok("post", "read", "next", "--as", "bob")
	if out := p.ok("post", "search", "state:read", "from:ann"); !strings.Contains(out, "ann → bob  request  read\n") {
		t.Error(out)
	}
	if out := p.ok("post", "search", "absent"); out != "nothing found\n" {
		t.Error(out)
	}
	if out := p.ok("post", "search", "--", "retry", "-lunch"); strings.Contains(out, "lunch") {
		t.Error(out)
	}
	files, err := filepath.Glob(filepath.Join(p.root, "home/.local/state/postroom/search/*/*.db"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, said := p.run("post", "search", "loop"); code != 0 || !strings.Contains(out, "[loop]") || said != "post: the search index was built anew: it was damaged\n" {
		t.Errorf("exit %d %s%s", code, out, said)
	}
	if out := p.ok("post", "search", "--verify"); out != "2 messages of the office compared with 2 in the index, 2 of them by their words: 0 wrong\n" {
		t.Error(out)
	}
	if out := p.ok("post", "search", "--rebuild"); out != "indexed 2 messages\n" {
		t.Error(out)
	}
}

func TestSearchJSON(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	for range 3 {
		p.ok("post", "send", "bob", "--as", "ann", "--again", "-s", "build", "-m", "green \u202e again")
	}
	var v struct {
		V    int
		Hits []struct {
			ID               string
			Subject, Snippet []struct {
				Text string
				Hit  bool
			}
			States []struct{ Agent, State string }
		}
		More     bool
		Before   string
		Doubtful []string
	}
	var seen []string
	before := []string{}
	for range 3 {
		out := p.ok("post", append([]string{"search", "--json", "--limit", "1", "green"}, before...)...)
		v.Before = ""
		if err := json.Unmarshal([]byte(out), &v); err != nil || v.V != 1 || len(v.Hits) != 1 || strings.Count(out, "\n") != 1 {
			t.Fatal(out, err)
		}
		h := v.Hits[0]
		if h.Subject[0].Text != "build" || h.Snippet[0].Text != "green" || !h.Snippet[0].Hit || h.Snippet[1].Text != " [U+202E] again" || h.States[0].Agent != "bob" {
			t.Error(out)
		}
		seen = append(seen, h.ID)
		before = []string{"--before", v.Before}
	}
	if v.More || seen[0] <= seen[1] || seen[1] <= seen[2] {
		t.Error(seen, v.More)
	}
	file := filepath.Join(p.dir, "messages", seen[0][:7], seen[0]+".json")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	code, out, said := p.run("post", "search", "--json", "green")
	if json.Unmarshal([]byte(out), &v) != nil || code != 1 || len(v.Doubtful) != 1 || v.Doubtful[0] != seen[0] || !strings.Contains(said, "run post verify") {
		t.Errorf("exit %d %s%s", code, out, said)
	}
}

func TestSearchUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"", 2, "too few arguments"},
		{"--verify x", 2, "--verify stands alone"},
		{"--limit 0 x", 2, "--limit is a number"},
		{"--before x y", 2, "--before wants a whole message id"},
		{"--before 2026-05-30T14-03-11-123Z-0004-a1b2c3d4 y", 5, "the index has no such message"},
		{"--rank --before 2026-05-30T14-03-11-123Z-0004-a1b2c3d4 y", 2, "--rank has no order"},
		{"state:lost", 5, "state:lost: is no state; say unread"},
		{"from:amn", 5, "did you mean from:ann?"},
		{"form:ann", 5, "did you mean from:?"},
		{`"abc`, 5, "has no closing quote"},
		{"-x", 2, "search"},
		{"--as nobody x", 5, "nobody"},
	} {
		code, out, said := p.run("post", append([]string{"search"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(said, c.says) || out != "" {
			t.Errorf("%s: exit %d, %s%s", c.args, code, out, said)
		}
	}
}
