//go:build e2e && linux

package links

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// noSecret: what lies in a station's secret files stands in no argument list,
// environment, log, journal, transcript or status, and nobody else may read it.
func (w *world) noSecret(s *station) {
	w.t.Helper()
	var secrets []string
	for _, name := range []string{"seed", "curve", "user.jwt"} {
		file := filepath.Join(s.office, "link", name)
		text, err := os.ReadFile(file)
		must(w.t, err)
		fi, err := os.Stat(file)
		must(w.t, err)
		if fi.Mode().Perm() != 0o600 {
			w.t.Errorf("%s has mode %v", file, fi.Mode())
		}
		if s := strings.TrimSpace(string(text)); len(s) > 20 {
			secrets = append(secrets, s)
		}
	}
	shown := map[string]string{"log of " + s.name: s.serve.said(), "log of the hub": w.hub.run.said(), "link status": s.post("link", "status", "--json").out}
	for _, p := range []*process{s.serve, w.hub.run} {
		for _, f := range []string{"cmdline", "environ"} {
			text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), f))
			shown[f+" of "+p.log] = string(text)
		}
	}
	for _, glob := range []string{"journal/*", "transcripts/*", "link/status.json", "link/station.json", "link/peers/*", "link/*/*.jsonl", "registry.json"} {
		files, _ := filepath.Glob(filepath.Join(s.office, glob))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			shown[f] = string(text)
		}
	}
	for where, text := range shown {
		for i, secret := range secrets {
			if strings.Contains(text, secret) {
				w.t.Errorf("secret %d of %s stands in %s", i, s.name, where)
			}
		}
	}
}
