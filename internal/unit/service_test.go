package unit

import (
	"encoding/xml"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mail"
)

var update = flag.Bool("update", false, "rewrite golden files")

func plain() Service {
	return Service{OfficeID: "o-1a2b3c", Office: "/home/ann/mail", Program: "/usr/local/bin/postd", Path: "/usr/bin:/bin", Home: "/home/ann"}
}

func odd() Service {
	return Service{OfficeID: "o-1a2b3c", Office: `/home/ann b/100% "mail" $HOME's\n <&>`, Program: `/opt/my tools/%h "x"/postd`,
		Path: `/opt/my tools/bin:/a%b:/$x`, Home: "/home/ann b", StateHome: "/home/ann b/state%d"}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Service{"plain": plain(), "odd": odd()} {
		for _, m := range []Manager{Systemd, Launchd} {
			t.Run(name+"/"+string(m), func(t *testing.T) {
				t.Parallel()
				got, err := s.Render(m)
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join("testdata", name+"."+string(m))
				if *update {
					if err := os.WriteFile(file, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil || string(got) != string(want) {
					t.Fatalf("%s differs (%v):\n%s", file, err, got)
				}
				if ours, changed := Ours(got); !ours || changed {
					t.Fatal("a fresh file is not taken for ours")
				}
			})
		}
	}
}

// TestPlistReads has an XML parser read back what was escaped.
func TestPlistReads(t *testing.T) {
	t.Parallel()
	s := odd()
	data, err := s.Render(Launchd)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	d := xml.NewDecoder(strings.NewReader(string(data)))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := tok.(xml.CharData); ok {
			words = append(words, string(c))
		}
	}
	all := strings.Join(words, "\x00")
	for _, want := range []string{s.Office, s.Program, s.Path, s.StateHome} {
		if !strings.Contains(all, want) {
			t.Errorf("%q cannot be read back", want)
		}
	}
}

// TestSystemdTakes asks systemd itself, where there is one.
func TestSystemdTakes(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("no systemd-analyze here; the golden files stand alone")
		return
	}
	dir := filepath.Join(t.TempDir(), `my "tools" 100%h $X`)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := odd()
	s.Program = filepath.Join(dir, "postd")
	if err := os.WriteFile(s.Program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := s.Render(Systemd)
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "postroom-x.service")
	if err := os.WriteFile(unit, data, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--user", "--man=no", unit).CombinedOutput()
	if strings.Contains(string(out), "postroom-x") {
		t.Fatalf("%v\n%s\n%s", err, out, data)
	}
}

func TestInstallUninstall(t *testing.T) {
	t.Parallel()
	for _, m := range []Manager{Systemd, Launchd} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			s := plain()
			s.Home = t.TempDir()
			if _, removed, err := s.Uninstall(m); err != nil || removed {
				t.Fatalf("nothing to remove: %v %v", removed, err)
			}
			path, err := s.Install(m)
			if err != nil {
				t.Fatal(err)
			}
			s.Path = "/other" // an update replaces what was written here
			if _, err := s.Install(m); err != nil {
				t.Fatal(err)
			}
			if _, removed, err := s.Uninstall(m); err != nil || !removed {
				t.Fatalf("%v %v", removed, err)
			}
			if _, err := os.Lstat(path); !os.IsNotExist(err) {
				t.Fatal("still there")
			}
			left, _ := os.ReadDir(filepath.Dir(path))
			if len(left) != 0 {
				t.Fatalf("left behind: %v", left)
			}
		})
	}
}

func TestKeepsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	fresh, err := plain().Render(Systemd)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"foreign": "[Unit]\nDescription=mine\n",
		"edited":  strings.Replace(string(fresh), "RestartSec=5", "RestartSec=50", 1),
		"added":   string(fresh) + "# mine\n",
		"empty":   "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := plain()
			s.Home = t.TempDir()
			path := s.File(Systemd)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Install(Systemd); mail.KindOf(err) != mail.KindConflict {
				t.Fatalf("install: %v", err)
			}
			if _, removed, err := s.Uninstall(Systemd); mail.KindOf(err) != mail.KindConflict || removed {
				t.Fatalf("uninstall: %v", err)
			}
			if now, _ := os.ReadFile(path); string(now) != content {
				t.Fatal("the file was touched")
			}
		})
	}
}

func TestKeepsSymlinks(t *testing.T) {
	t.Parallel()
	s := plain()
	s.Home = t.TempDir()
	path := s.File(Systemd)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", path); err != nil { // a masked unit
		t.Fatal(err)
	}
	if _, err := s.Install(Systemd); mail.KindOf(err) != mail.KindConflict {
		t.Fatal(err)
	}
}

func TestRefusesControlCharacters(t *testing.T) {
	t.Parallel()
	s := plain()
	s.Office = "/home/ann/a\nExecStartPre=/bin/evil"
	if _, err := s.Render(Systemd); mail.KindOf(err) != mail.KindInvalid {
		t.Fatal(err)
	}
}
