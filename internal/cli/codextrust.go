package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/install"
	"github.com/postroom/postroom/internal/mail"
)

// codexTrust looks which of our hooks Codex trusts, and has it trust them if
// the user said so. targets are Codex's two files.
func (in *installing) codexTrust(ctx context.Context, e *Env, targets []install.Target, r *installReport) error {
	missing, err := in.untrusted(e, targets)
	if err != nil {
		return err
	}
	if in.dry {
		missing = nil
		if in.trust {
			r.Notes = append(r.Notes, "with --trust-hooks, Codex would be told to trust these hooks, in its config.toml")
		}
	}
	if len(missing) == 0 || !in.trust {
		r.Untrusted = len(missing)
		return nil
	}
	if err := e.trustHooks(ctx, missing, in.place.Repo); err != nil {
		return err
	}
	var keys []string
	for _, k := range missing {
		keys = append(keys, k.Key)
	}
	r.Trusted = len(keys)
	return in.rememberTrust(e, targets[1], keys)
}

// untrusted lists the installed hooks that Codex would leave out.
func (in *installing) untrusted(e *Env, targets []install.Target) ([]install.TrustKey, error) {
	hooks, err := in.open(e, targets[0])
	if err != nil {
		return nil, err
	}
	look, err := hooks.Look(hooks.file.data)
	if err != nil {
		return nil, err
	}
	c, err := in.open(e, targets[1])
	if err != nil {
		return nil, err
	}
	return install.Untrusted(c.Path, c.file.data, look.Keys)
}

// rememberTrust adds to what is known of config.toml what Codex wrote there.
func (in *installing) rememberTrust(e *Env, t install.Target, keys []string) error {
	c, err := in.open(e, t)
	if err != nil {
		return err
	}
	if c.known.Path == "" {
		c.known.Path, c.known.Runtime = t.Path, t.Runtime
	}
	c.known.After = string(mail.DigestOf(c.file.data))
	c.known.Made = append(c.known.Made, install.TrustMade(keys)...)
	return e.User().SetInstalled(c.known)
}

// rpcWait is how long Codex may take to record trust.
const rpcWait = 30 * time.Second

// trustHooks has Codex itself record that the user trusts hooks: it alone
// defines what it trusts. It trusts what Codex reports under our keys, and only
// if that is what we installed.
func (e *Env) trustHooks(ctx context.Context, keys []install.TrustKey, dir string) error {
	fail := func(err error) error {
		return &mail.Error{Op: "have Codex trust the hooks", Kind: mail.KindStore, Err: err,
			Hint: "the hooks are installed; start codex and say yes when it asks"}
	}
	path := e.onPath(executable("codex"))
	if path == "" {
		return fail(errors.New("codex is not on your PATH"))
	}
	ctx, cancel := context.WithTimeout(ctx, rpcWait)
	defer cancel()
	s, err := startAppServer(ctx, path, dir, e.Environ)
	if err != nil {
		return fail(err)
	}
	defer s.stop()
	state, err := s.hookState(keys, dir)
	if err == nil {
		err = s.call("config/batchWrite", map[string]any{"edits": []any{map[string]any{
			"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}}}, nil)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// appServer is "codex app-server", spoken to in JSON-RPC, one message a line.
type appServer struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
	id  int
}

func startAppServer(ctx context.Context, path, dir string, environ []string) (*appServer, error) {
	cmd := exec.CommandContext(ctx, path, "app-server")
	cmd.Env, cmd.Dir, cmd.WaitDelay = environ, dir, time.Second
	cmd.Stderr = nil
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &appServer{in: in, out: bufio.NewReaderSize(out, 64<<10), cmd: cmd}
	err = s.call("initialize", map[string]any{"clientInfo": map[string]string{"name": "postroom", "version": "1"}}, nil)
	if err == nil {
		err = s.send(map[string]any{"method": "initialized"})
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// stop ends the server: its input ends, and it has a moment to see that.
func (s *appServer) stop() {
	s.in.Close()
	done := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(3 * time.Second):
		_ = s.cmd.Process.Signal(os.Kill)
		<-done
	}
}

func (s *appServer) send(m map[string]any) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = s.in.Write(append(data, '\n'))
	return err
}

// call asks for something and decodes the answer into result, unless nil.
func (s *appServer) call(method string, params, result any) error {
	s.id++
	if err := s.send(map[string]any{"id": s.id, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: codex app-server ended: %w", method, err)
		}
		var m struct {
			ID     *int            `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil || *m.ID != s.id || m.Method != "" {
			continue // a notification
		}
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
}

// hookState asks for what Codex would trust under the keys.
func (s *appServer) hookState(keys []install.TrustKey, dir string) (map[string]any, error) {
	var list struct {
		Data []struct {
			Hooks []struct{ Key, CurrentHash, Command string }
		}
	}
	if err := s.call("hooks/list", map[string]any{"cwds": []string{dir}}, &list); err != nil {
		return nil, err
	}
	state := map[string]any{}
	for _, d := range list.Data {
		for _, h := range d.Hooks {
			ours := slices.ContainsFunc(keys, func(k install.TrustKey) bool { return k.Key == h.Key })
			if ours && install.OurHook(h.Command, "codex") {
				state[h.Key] = map[string]string{"trusted_hash": h.CurrentHash}
			}
		}
	}
	if len(state) < len(keys) {
		return nil, fmt.Errorf("codex sees %d of the %d hooks; its hooks may be switched off", len(state), len(keys))
	}
	return state, nil
}
