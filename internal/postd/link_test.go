package postd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// feed runs a command with an input.
func (p *place) feed(input, program string, args ...string) (code int, out, said string) {
	p.t.Helper()
	cmd := p.command(program, args...)
	var o, e lines
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &o, &e
	cmd.Run()
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// startHub runs post hub in the background and returns its first line of JSON.
func (p *place) startHub(args ...string) (h *served, said struct{ Listen, Station, Line, Dir string }) {
	p.t.Helper()
	h = &served{cmd: p.command("post", append([]string{"hub", "--json", "--listen", "127.0.0.1:0"}, args...)...), log: &lines{}, ended: make(chan struct{})}
	out := &lines{}
	h.cmd.Stdout, h.cmd.Stderr = out, h.log
	if err := h.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(h.ended)
		h.cmd.Wait()
	}()
	p.t.Cleanup(func() {
		h.cmd.Process.Kill()
		<-h.ended
	})
	eventually(p.t, "the hub is up", func() bool {
		json.Unmarshal([]byte(out.String()), &said)
		return said.Listen != ""
	})
	return h, said
}

// asked is a command that prints one JSON object.
func (p *place) asked(into any, args ...string) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.ok("post", append(args, "--json")...)), into); err != nil {
		p.t.Fatal(err)
	}
}

type linkStatus struct {
	Station, Key string
	Served       bool
	Link         *struct {
		Up    bool
		Why   string
		Peers []struct {
			Station, Fingerprint, Trouble string
			Revoked                       bool
		}
	}
}

func (p *place) linkUp(what string, ok func(linkStatus) bool) linkStatus {
	p.t.Helper()
	var s linkStatus
	eventually(p.t, what, func() bool {
		s = linkStatus{}
		p.asked(&s, "link", "status")
		return s.Link != nil && ok(s)
	})
	return s
}

// TestLinkByHub: one command on the first machine, two on the second, and mail
// goes both ways; a new key is taken without a question; who is revoked is out.
func TestLinkByHub(t *testing.T) {
	t.Parallel()
	a, b := newPlace(t, "ann"), newPlace(t, "bob")
	hub, said := a.startHub("--station", "one")
	if said.Station != "one" || !strings.HasPrefix(said.Line, "postroom-join:") {
		t.Fatalf("%+v", said)
	}
	if code, out, say := b.feed(said.Line+"\n", "post", "link", "join", "--station", "two"); code != 0 || !strings.Contains(out, "station two of team team") || !strings.Contains(out, "post serve") {
		t.Fatalf("exit %d\n%s%s", code, out, say)
	}
	if code, _, say := newPlace(t).feed(said.Line, "post", "link", "join", "-", "--station", "three"); code != 5 || !strings.Contains(say, "has been used, by two") {
		t.Errorf("a used line: exit %d, %s", code, say)
	}
	b.serve()
	b.linkUp("two sees one", func(s linkStatus) bool { return s.Link.Up && s.Served && len(s.Link.Peers) == 1 })
	a.linkUp("one sees two", func(s linkStatus) bool { return s.Link.Up && len(s.Link.Peers) == 1 })
	a.drop("ann", "hello", "bob@two")
	eventually(t, "bob has it", func() bool { return b.bodies("bob")["hello"] == 1 })
	b.drop("bob", "answer", "ann@one")
	eventually(t, "ann has it", func() bool { return a.bodies("ann")["answer"] == 1 })

	before := b.linkUp("", func(linkStatus) bool { return true })
	var rotated struct{ Station, Key string }
	b.asked(&rotated, "link", "rotate")
	if rotated.Key == before.Key || rotated.Station != "two" {
		t.Fatalf("%+v after %s", rotated, before.Key)
	}
	a.linkUp("one takes the new key", func(s linkStatus) bool {
		return len(s.Link.Peers) == 1 && strings.HasSuffix(rotated.Key, s.Link.Peers[0].Fingerprint[len(s.Link.Peers[0].Fingerprint)-4:]) && s.Link.Peers[0].Trouble == ""
	})
	b.linkUp("two is up with it", func(s linkStatus) bool { return s.Link.Up && s.Key == rotated.Key })
	b.drop("bob", "new key", "ann@one")
	eventually(t, "ann has that", func() bool { return a.bodies("ann")["new key"] == 1 })

	if out := a.ok("post", "link", "revoke", "two"); !strings.Contains(out, "two is out") {
		t.Error(out)
	}
	b.linkUp("two knows", func(s linkStatus) bool { return !s.Link.Up && strings.Contains(s.Link.Why, "revoked") })
	a.linkUp("one knows", func(s linkStatus) bool { return len(s.Link.Peers) == 1 && s.Link.Peers[0].Revoked })
	if out := a.ok("post", "hub", "status"); !strings.Contains(out, "out: two") {
		t.Error(out)
	}
	if code := hub.end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("the hub ends with %d: %s", code, hub.log)
	}
	noSecrets(t, a, said.Line, hub.log.String())
}

// noSecrets: keys and join lines stand in no log and no journal.
func noSecrets(t *testing.T, p *place, line, log string) {
	t.Helper()
	secrets := []string{strings.TrimPrefix(line, "postroom-join:")}
	for _, f := range []string{"seed", "curve", "user.jwt"} {
		data, err := os.ReadFile(filepath.Join(p.dir, "link", f))
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, strings.TrimSpace(string(data)))
	}
	text := log
	journals, _ := filepath.Glob(filepath.Join(p.dir, "journal", "*"))
	for _, f := range append(journals, filepath.Join(p.dir, "postroom.toml"), filepath.Join(p.dir, "link", "station.json"), filepath.Join(p.dir, "link", "status.json")) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	for _, s := range secrets {
		if s == "" || strings.Contains(text, s) {
			t.Errorf("a secret stands where it must not: %q", s[:min(len(s), 12)])
		}
	}
}

// TestLinkLeave: it goes, and comes back under a name of its choice.
func TestLinkLeave(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := filepath.Join(p.root, "hub")
	hub, said := p.startHub("--server-only", "--dir", dir)
	if said.Station != "" || said.Dir != dir {
		t.Fatalf("%+v", said)
	}
	if code, _, say := p.run("post", "link", "status"); code != 5 || !strings.Contains(say, "not linked") {
		t.Errorf("exit %d, %s", code, say)
	}
	if code, _, say := p.feed("", "post", "link", "join"); code != 2 {
		t.Errorf("no line: exit %d, %s", code, say)
	}
	code, _, say := p.run("post", "link", "join", said.Line, "--station", "lab")
	if code != 0 || !strings.Contains(say, "stood in the command line") {
		t.Fatalf("exit %d, %s", code, say)
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, "postroom.toml")); err != nil || !strings.Contains(string(text), `station = "lab"`) {
		t.Errorf("%s, %v", text, err)
	}
	if code, _, say := p.run("post", "hub", "--listen", "127.0.0.1:0"); code != 5 || !strings.Contains(say, "another hub") {
		t.Errorf("a hub of its own: exit %d, %s", code, say)
	}
	var invited struct{ Line string }
	p.asked(&invited, "hub", "invite", "--dir", dir)
	if code, out, say := p.feed(invited.Line, "post", "link", "join"); code != 0 || !strings.Contains(out, "station lab") {
		t.Errorf("the same hub again: exit %d, %s%s", code, out, say)
	}
	if out := p.ok("post", "link", "leave"); !strings.Contains(out, "it was lab") {
		t.Error(out)
	}
	for _, f := range []string{"station.json", "seed", "curve", "user.jwt"} {
		if _, err := os.Stat(filepath.Join(p.dir, "link", f)); err == nil {
			t.Errorf("%s is still there", f)
		}
	}
	p.asked(&invited, "hub", "invite", "--dir", dir)
	if code, out, say := p.feed(invited.Line, "post", "link", "join", "--station", "lab"); code != 0 {
		t.Errorf("back again: exit %d, %s%s", code, out, say)
	}
	hub.end(t, syscall.SIGTERM)
	if code, _, say := p.run("post", "link", "leave"); code == 0 || !strings.Contains(say, "--forget") {
		t.Errorf("without the hub: exit %d, %s", code, say)
	}
	p.ok("post", "link", "leave", "--forget")
}

// TestLinkWrong: what is refused, and what is said then.
func TestLinkWrong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"link"}, 2, "which one"},
		{[]string{"link", "jion"}, 2, "jion"},
		{[]string{"link", "--nats", "nats://u:p@h:4222", "--creds", "f"}, 2, "password in a URL"},
		{[]string{"link", "--nats", "h", "--creds", "f"}, 2, "is no server's URL"},
		{[]string{"link", "--nats", "nats://h:4222", "--creds", "no-such-file", "--station", "x"}, 1, "no-such-file"},
		{[]string{"link", "--nats", "nats://h:4222", "--creds", "f", "--station", "X"}, 5, "upper-case"},
		{[]string{"link", "join", "hello", "--station", "x"}, 5, "does not begin with postroom-join:"},
		{[]string{"link", "trust", "nobody"}, 5, "not linked"},
		{[]string{"link", "revoke", "nobody"}, 5, "there is no hub"},
		{[]string{"link", "rotate"}, 5, "not linked"},
		{[]string{"link", "leave"}, 5, "not linked"},
		{[]string{"hub", "invite"}, 5, "there is no hub"},
		{[]string{"hub", "status"}, 5, "there is no hub"},
		{[]string{"hub", "stauts"}, 2, ""},
		{[]string{"hub", "--listen", "nowhere"}, 2, "HOST:PORT"},
		{[]string{"hub", "--expires", "1ms"}, 2, "too short"},
		{[]string{"hub", "--server-only", "--station", "x"}, 2, "leave out one"},
	} {
		code, out, said := p.run("post", c.args...)
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%v: exit %d, not %d: %s%s", c.args, code, c.code, out, said)
		}
	}
}

// TestLinkIsAPersons: an agent's session can't bring in or throw out a machine.
func TestLinkIsAPersons(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	toml := filepath.Join(p.dir, "postroom.toml")
	text, err := os.ReadFile(toml)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(toml, []byte(strings.Replace(string(text), `person_check = "off"`, `person_check = "env"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"hub"}, {"hub", "invite"}, {"link", "join"}, {"link", "leave"}, {"link", "rotate"}, {"link", "revoke", "x"}, {"link", "trust", "x"}, {"link", "--nats", "nats://h", "--creds", "f"}} {
		cmd := p.command("post", args...)
		cmd.Env = append(cmd.Env, "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli")
		out, err := cmd.CombinedOutput()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 5 || !strings.Contains(string(out), "only a person") {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
}
