package notify

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// KindExec is the kind of agents that are woken by a program of theirs.
const KindExec = "exec"

// exitHeld is the exit code by which a program says: busy, try later.
const exitHeld = 3

// Exec runs the program in Notify[1] with the arguments behind it. There is no
// shell. An argument that is exactly {agent}, {count}, {ids} (comma-separated),
// {command} or {office} is replaced; nothing inside an argument is. The pointer
// comes as JSON on standard input and in POSTROOM_AGENT, POSTROOM_OFFICE,
// POSTROOM_IDS and POSTROOM_COUNT; the rest of the environment is scrubbed.
//
// Exit code 0 is Notified, 3 is Held, anything else Failed. At the deadline
// the program's process group is killed. It runs in the agent's workspace.
type Exec struct {
	Getenv func(string) string // nil is os.Getenv
}

// Kind returns KindExec.
func (Exec) Kind() string { return KindExec }

// Check finds the program and returns its absolute path with the arguments.
func (Exec) Check(args []string) ([]string, error) {
	if len(args) == 0 || args[0] == "" {
		return nil, usage(KindExec, "no program", "write exec:/absolute/path[:ARG…]")
	}
	if !filepath.IsAbs(args[0]) && filepath.Base(args[0]) != args[0] {
		return nil, usage(KindExec, "the program's path is relative: "+line(args[0], 80), "give its absolute path")
	}
	path, err := exec.LookPath(args[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, &mail.Error{
			Op: "notify", Kind: mail.KindUsage, Addr: KindExec, Err: err, Hint: "give the absolute path of a program that can be run",
		}
	}
	for _, arg := range args[1:] {
		if strings.ContainsRune(arg, 0) {
			return nil, usage(KindExec, "an argument holds a NUL", "")
		}
		if _, whole := (Pointer{}).field(arg); !whole && placeholderIn(arg) {
			return nil, usage(KindExec, "a placeholder inside an argument is not replaced: "+line(arg, 80),
				"make it an argument of its own")
		}
	}
	return append([]string{path}, args[1:]...), nil
}

// Notify implements Adapter.
func (x Exec) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(KindExec, agent, err.Error(), "")
	}
	args := agent.Args()
	if len(args) == 0 || !filepath.IsAbs(args[0]) {
		return Fail(KindExec, agent, "no absolute path of a program", "join again with --notify exec:/absolute/path")
	}
	argv := []string{args[0]}
	for _, arg := range args[1:] {
		if v, ok := p.field(arg); ok {
			arg = v
		}
		argv = append(argv, arg)
	}
	stdin, err := p.wire()
	if err != nil {
		return Fail(KindExec, agent, err.Error(), "")
	}
	e := child{argv: argv, env: x.env(p), dir: workdir(agent.Workspace, argv[0]), stdin: stdin}.run(ctx)
	switch {
	case e.ok:
		return Outcome{Notified, line("exec: "+argv[0]+" took it (exit 0)", evidenceMax)}, nil
	case e.code == exitHeld:
		return Outcome{Held, line("exec: busy ("+e.why+")", evidenceMax)}, nil
	}
	return Fail(KindExec, agent, e.why, e.hint)
}

func (x Exec) env(p Pointer) []string {
	return scrubbed(x.Getenv,
		pair("agent", p.Agent), pair("office", p.Office), pair("ids", p.joined()), pair("count", p.Count))
}

// field returns what stands for a whole argument; ok is false if arg is no
// placeholder.
func (p Pointer) field(arg string) (value string, ok bool) {
	switch arg {
	case "{agent}":
		return p.Agent, true
	case "{count}":
		return strconv.Itoa(p.Count), true
	case "{ids}":
		return p.joined(), true
	case "{command}":
		return p.Command, true
	case "{office}":
		return p.Office, true
	}
	return "", false
}

func placeholderIn(arg string) bool {
	for _, p := range []string{"{agent}", "{count}", "{ids}", "{command}", "{office}"} {
		if strings.Contains(arg, p) {
			return true
		}
	}
	return false
}

func (p Pointer) joined() string {
	ids := make([]string, len(p.IDs))
	for i, id := range p.IDs {
		ids[i] = string(id)
	}
	return strings.Join(ids, ",")
}

// wire is the pointer as one JSON object, with its version.
func (p Pointer) wire() ([]byte, error) {
	data, err := json.Marshal(struct {
		V int `json:"v"`
		Pointer
	}{1, p})
	return append(data, '\n'), err
}

// workdir is where the program runs: never where the sender happens to stand.
func workdir(workspace, program string) string {
	if fi, err := os.Stat(workspace); err == nil && fi.IsDir() && filepath.IsAbs(workspace) {
		return workspace
	}
	return filepath.Dir(program)
}
