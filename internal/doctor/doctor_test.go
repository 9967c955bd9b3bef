package doctor_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/doctor"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/verify"
)

type ward struct {
	*officetest.RealDesk
	host doctor.Host
	ids  map[string]mail.ID
}

// newWard is an office with mail that waits: "waiting" for coder, "outside" for
// an agent with a mailbox in its workspace, which is a git repository's.
func newWard(t *testing.T) *ward {
	t.Helper()
	d := officetest.NewRealDesk(t, "researcher", "coder")
	d.Join("sandboxed", filepath.Join(d.Root, "work", ".mail"))
	w := &ward{RealDesk: d, ids: map[string]mail.ID{}}
	w.ids["done"] = d.Mail("researcher", "coder", mail.Inform, "Zero", "Done with.")
	if _, err := d.Box("coder").Finish(w.ids["done"]); err != nil {
		t.Fatal(err)
	}
	w.ids["waiting"] = d.Mail("researcher", "coder", mail.Inform, "First", "Know this.")
	w.ids["outside"] = d.Mail("coder", "sandboxed", mail.Inform, "Second", "Know that.")
	d.Pass()
	return w
}

func (w *ward) doctor() *doctor.Doctor { return &doctor.Doctor{Dir: w.Dir, Sys: w.Sys, Host: w.host} }

// wrong lists what is found, without notes.
func wrong(list []doctor.Finding) (out []doctor.Finding) {
	for _, f := range list {
		if f.Severity != doctor.Note {
			out = append(out, f)
		}
	}
	return out
}

func (w *ward) mend(t *testing.T) ([]doctor.Repair, []doctor.Finding) {
	t.Helper()
	repairs, left, err := w.doctor().Mend(t.Context(), w.locked)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range repairs {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Finding.What, r.Err)
		}
	}
	return repairs, left
}

func (w *ward) locked(fn func() error) error {
	l, err := spool.AcquireLease(w.Office().FS, spool.Holder{PID: 1})
	if err != nil {
		return err
	}
	defer l.Release()
	return fn()
}

func (w *ward) inbox(name string, id mail.ID) string {
	return w.Path("agents", name, "inbox", spool.FileName(id))
}

func (w *ward) write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestSound(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	if list := wrong(w.doctor().Examine(t.Context())); len(list) > 0 {
		t.Fatalf("%+v", list)
	}
	if repairs, _ := w.mend(t); len(repairs) > 0 {
		t.Fatalf("%+v", repairs)
	}
}

// fault is one thing that can go wrong.
type fault struct {
	name  string
	do    func(t *testing.T, w *ward)
	check string
	what  string
	fix   string // in the command that is named
	note  bool
	// cure does by hand what the named command does; nil: post doctor --fix.
	cure func(t *testing.T, w *ward)
	// stays: the named cure takes a person's judgement.
	stays bool
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, f := range append(append(diskFaults(), mailFaults()...), peopleFaults()...) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			f.do(t, w)
			got, ok := findingOf(w.doctor().Examine(t.Context()), f)
			if !ok {
				t.Fatalf("not found among %+v", w.doctor().Examine(t.Context()))
			}
			if got.Why == "" || (got.Severity == doctor.Note) != f.note || !strings.Contains(got.Fix, f.fix) {
				t.Errorf("%+v", got)
			}
			if got.Fix == "" && !f.note {
				t.Errorf("names no cure: %+v", got)
			}
			if f.stays {
				return
			}
			if f.cure == nil {
				if !got.Mends {
					t.Errorf("is not mended by --fix: %+v", got)
				}
				w.mend(t)
			} else {
				f.cure(t, w)
			}
			if got, still := findingOf(w.doctor().Examine(t.Context()), f); still {
				t.Errorf("not cured: %+v", got)
			}
			if f.cure == nil {
				if repairs, left := w.mend(t); len(repairs) > 0 || len(wrong(left)) > 0 {
					t.Errorf("mended twice: %+v, left %+v", repairs, wrong(left))
				}
			}
		})
	}
}

func findingOf(list []doctor.Finding, f fault) (doctor.Finding, bool) {
	for _, x := range list {
		if x.Check == f.check && strings.Contains(x.What, f.what) {
			return x, true
		}
	}
	return doctor.Finding{}, false
}

func (w *ward) setPolicy(t *testing.T, old, new string) {
	t.Helper()
	w.Edit(w.Path("postroom.toml"), func(s string) string { return strings.Replace(s, old, new, 1) })
}

func diskFaults() []fault {
	remove := func(elem ...string) func(*testing.T, *ward) {
		return func(t *testing.T, w *ward) { must(t, os.RemoveAll(w.Path(elem...))) }
	}
	return []fault{
		{name: "office open to others", check: "permissions", what: "the office has", fix: "--fix",
			do: func(t *testing.T, w *ward) { must(t, os.Chmod(w.Dir, 0o755), os.Chmod(w.Path("registry.json"), 0o644)) }},
		{name: "mailbox shut", check: "permissions", what: "the mailbox of coder has", fix: "--fix",
			do: func(t *testing.T, w *ward) { must(t, os.Chmod(w.Path("agents", "coder", "inbox"), 0o500)) }},
		{name: "mail readable", check: "permissions", what: "the mailbox of sandboxed has 1 name", fix: "--fix",
			do: func(t *testing.T, w *ward) {
				must(t, os.Chmod(filepath.Join(w.Root, "work", ".mail", "inbox", spool.FileName(w.ids["outside"])), 0o644))
			}},
		{name: "another user's", check: "owner", what: "belongs to user 12", fix: "sudo chown -R", stays: true,
			do: func(_ *testing.T, w *ward) {
				w.host.UID = 7
				w.host.Owner = func(path string) (int, bool) { return 12, path == w.Dir }
			}},
		{name: "network", check: "file system", what: "NFS", fix: "post office move", stays: true,
			do: func(_ *testing.T, w *ward) {
				w.host.Filesystem = func(dir string) string {
					if dir == w.Dir {
						return "NFS"
					}
					return ""
				}
			}},
		{name: "synced", check: "synced folder", what: "Syncthing", fix: "post office move",
			do:   func(t *testing.T, w *ward) { must(t, os.Mkdir(filepath.Join(w.Root, ".stfolder"), 0o700)) },
			cure: func(t *testing.T, w *ward) { must(t, os.Remove(filepath.Join(w.Root, ".stfolder"))) }},
		{name: "lease missing", check: "lease", what: "missing", fix: "--fix", do: remove("lease")},
		{name: "lease a directory", check: "lease", what: "no regular file", fix: "mv ",
			do:   func(t *testing.T, w *ward) { must(t, os.Remove(w.Path("lease")), os.Mkdir(w.Path("lease"), 0o700)) },
			cure: func(t *testing.T, w *ward) { must(t, os.Rename(w.Path("lease"), w.Path("lease.old"))) }},
		{name: "lease held", check: "lease", what: "held for 10m by process 4711, which is alive", fix: "kill 4711", do: holdLease(true), stays: true},
		{name: "lease of the dead", check: "lease", what: "process 4711, which is dead", fix: "fuser", do: holdLease(false), stays: true},
		{name: "copied office", check: "office", what: "another machine", fix: "post office",
			do:   func(_ *testing.T, w *ward) { w.Sys.Machine = func() string { return "m-other" } },
			cure: func(t *testing.T, w *ward) { _, err := w.Office().Arrive(); must(t, err) }},
		{name: "moved office", check: "office", what: "moved to /elsewhere", fix: "--office /elsewhere", stays: true,
			do: func(t *testing.T, w *ward) { w.write(t, w.Path("MOVED"), "/elsewhere\n") }},
		{name: "broken settings", check: "office", what: "hop_cap", fix: "mend that line",
			do:   func(t *testing.T, w *ward) { w.setPolicy(t, "hop_cap = 12", "hop_cap = 0") },
			cure: func(t *testing.T, w *ward) { w.setPolicy(t, "hop_cap = 0", "hop_cap = 12") }},
		{name: "settings that name nobody", check: "config", what: "orchestrator names boss", fix: "post join boss",
			do:   func(t *testing.T, w *ward) { w.setPolicy(t, `orchestrator = ""`, `orchestrator = "boss"`) },
			cure: func(_ *testing.T, w *ward) { w.Join("boss", "") }},
		{name: "person check weakened", check: "person check", what: "off", note: true, stays: true, do: func(*testing.T, *ward) {}},
		{name: "registry gone", check: "registry", what: "registry", fix: "backup", do: remove("registry.json"), stays: true},
		{name: "registry edited", check: "registry", what: "edited by hand", fix: "post doctor --fix",
			do: func(t *testing.T, w *ward) {
				w.Edit(w.Path("registry.json"), func(s string) string { return strings.Replace(s, `"notify":["none"]`, `"notify": ["none"]`, 1) })
			}},
		{name: "channel of nobody", check: "channel", what: "nobody in channel team", fix: "post channel add",
			do: func(t *testing.T, w *ward) {
				w.registry(t, func(r *registry.Registry) error {
					return errors.Join(r.AddChannel("team", "a-coder", "a-researcher"), r.Archive("a-coder", true), r.Archive("a-researcher", true))
				})
			},
			cure: func(t *testing.T, w *ward) {
				w.registry(t, func(r *registry.Registry) error { return r.AddMember("team", "a-sandboxed") })
			}},
		{name: "channel with an archived member", check: "channel", what: "coder in channel team is archived", fix: "post channel remove team coder", note: true,
			do: func(t *testing.T, w *ward) {
				w.registry(t, func(r *registry.Registry) error {
					return errors.Join(r.AddChannel("team", "a-coder", "a-researcher"), r.Archive("a-coder", true))
				})
			},
			cure: func(t *testing.T, w *ward) {
				w.registry(t, func(r *registry.Registry) error { return r.RemoveMember("team", "a-coder") })
			}},
		{name: "temporary files", check: "temporary files", what: "1 temporary file is left in the mailbox of coder", fix: "--fix",
			do: func(t *testing.T, w *ward) { w.write(t, w.Path("agents", "coder", "outbox", ".tmp-x.json"), "{}") }},
		{name: "temporary files of the office", check: "temporary files", what: "left in the office", fix: "--fix",
			do: func(t *testing.T, w *ward) { w.write(t, w.Path("messages", "2026-05", ".tmp-x.json"), "{}") }},
		{name: "disk full", check: "disk", what: "only 20.0 MB are free", fix: "df -h", stays: true,
			do: func(_ *testing.T, w *ward) { w.host.Space = func(string) (uint64, bool) { return 20e6, true } }},
		{name: "several tools", check: "stale copy", what: "2 different copies of post", fix: "rm /b/post", stays: true,
			do: func(_ *testing.T, w *ward) {
				w.host.Tools = func() []doctor.Tool {
					return []doctor.Tool{{"/a/post", "v1", "1"}, {"/c/post", "v1", "1"}, {"/b/post", "v2", "2"}}
				}
			}},
		{name: "another version sent", check: "stale copy", what: "sent with post 0.0.9", fix: "post trace", stays: true,
			do: func(_ *testing.T, w *ward) {
				was := w.Sys.Version
				w.Sys.Version = "post 0.0.9"
				w.Mail("researcher", "coder", mail.Inform, "Old", "From an old tool.")
				w.Sys.Version = was
			}},
		{name: "audit never ran", check: "audit", what: "nothing was ever committed", fix: "post audit now",
			do: func(t *testing.T, w *ward) { w.setPolicy(t, `audit = "none"`, `audit = "git"`) },
			cure: func(t *testing.T, w *ward) {
				w.write(t, w.Path("audit.json"), `{"v":1,"last":{"at":"2026-05-30T14:03:11Z"},"failures":0}`)
			}},
		{name: "audit fails", check: "audit", what: "3 times in a row: index.lock exists", fix: "post audit now",
			do: func(t *testing.T, w *ward) {
				w.setPolicy(t, `audit = "none"`, `audit = "git"`)
				w.write(t, w.Path("audit.json"), `{"v":1,"failures":3,"error":{"at":"2026-05-30T14:03:11Z","kind":"store","text":"index.lock exists"}}`)
			},
			cure: func(t *testing.T, w *ward) { w.write(t, w.Path("audit.json"), `{"v":1}`) }},
		{name: "audit locked", check: "audit", what: "a stale lock stops the audit: HEAD.lock", fix: "post audit now",
			do: func(t *testing.T, w *ward) {
				w.setPolicy(t, `audit = "none"`, `audit = "git"`)
				w.write(t, w.Path("audit.json"), `{"v":1,"locks":[{"name":"HEAD.lock","stale":true,"why":"10 m old"}]}`)
			},
			cure: func(t *testing.T, w *ward) { w.write(t, w.Path("audit.json"), `{"v":1}`) }},
		{name: "old serve", check: "stale copy", what: "post serve runs as process 12 with postd 0.0.9", fix: "kill 12", stays: true,
			do: func(t *testing.T, w *ward) {
				w.write(t, w.Path("serve.lock"), `{"pid":12,"host":"test","version":"postd 0.0.9"}`)
				f, err := w.Office().FS.OpenFile("serve.lock", os.O_RDWR, 0)
				must(t, err)
				_, err = f.TryLock()
				must(t, err)
				t.Cleanup(func() { f.Close() })
			}},
		{name: "audit behind", check: "audit", what: "behind", fix: "post audit now",
			do: func(t *testing.T, w *ward) {
				w.setPolicy(t, `audit = "none"`, `audit = "git"`)
				w.write(t, w.Path("audit.json"), `{"v":1,"since":"2026-05-29T14:03:11Z"}`)
			},
			cure: func(t *testing.T, w *ward) {
				w.write(t, w.Path("audit.json"), `{"v":1,"since":"2026-05-30T14:03:11Z"}`)
			}},
	}
}

func (w *ward) registry(t *testing.T, change func(*registry.Registry) error) {
	t.Helper()
	reg := w.Registry()
	must(t, change(reg), reg.Save(w.Office().FS))
}

func holdLease(alive bool) func(*testing.T, *ward) {
	return func(t *testing.T, w *ward) {
		w.host.Alive = func(int) (bool, bool) { return alive, true }
		l, err := spool.AcquireLease(w.Office().FS, spool.Holder{PID: 4711, Host: "test", Since: w.Clock.Now().Add(-10 * time.Minute)})
		must(t, err)
		t.Cleanup(l.Release)
	}
}

func mailFaults() []fault {
	return []fault{
		{name: "mail vanished", check: "delivered mail", what: "vanished from the mailbox of coder", fix: "--fix",
			do: func(t *testing.T, w *ward) { must(t, os.Remove(w.inbox("coder", w.ids["waiting"]))) }},
		{name: "mail changed", check: "delivered mail", what: "changed in the mailbox of coder", fix: "--fix",
			do: func(_ *testing.T, w *ward) {
				w.Edit(w.inbox("coder", w.ids["waiting"]), func(s string) string { return strings.Replace(s, "Know", "Snow", 1) })
			}},
		{name: "office copy gone", check: "office copy", what: "gone or was changed", fix: "--fix",
			do: func(t *testing.T, w *ward) {
				must(t, os.Remove(w.Path("messages", "2026-05", spool.FileName(w.ids["outside"]))))
			}},
		{name: "office copy changed", check: "office copy", what: "gone or was changed", fix: "--fix",
			do: func(_ *testing.T, w *ward) {
				w.Edit(w.Path("messages", "2026-05", spool.FileName(w.ids["outside"])), func(s string) string { return s + " " })
			}},
		{name: "no sound copy left", check: "delivered mail", what: "changed in the mailbox of coder", fix: "send it again", stays: true,
			do: func(t *testing.T, w *ward) { // in place, so that everything linked to it changes
				w.write(t, w.inbox("coder", w.ids["waiting"]), "{}")
			}},
		{name: "mailbox gone", check: "mailbox", what: "the mailbox of coder is gone", fix: "--fix",
			do: func(t *testing.T, w *ward) { must(t, os.RemoveAll(w.Path("agents", "coder"))) }},
		{name: "mailbox lacks a part", check: "mailbox", what: "lacks outbox/.sent", fix: "--fix",
			do: func(t *testing.T, w *ward) { must(t, os.RemoveAll(w.Path("agents", "coder", "outbox", ".sent"))) }},
		{name: "pointer gone", check: "mailbox", what: "does not say whose it is", fix: "--fix",
			do: func(t *testing.T, w *ward) {
				must(t, os.Remove(filepath.Join(w.Root, "work", ".mail", ".postroom-mailbox.json")))
			}},
		{name: "index gone", check: "index", what: "is gone: the journal has 2 lines", fix: "--fix",
			do: func(t *testing.T, w *ward) { must(t, os.Truncate(w.Path("agents", "coder", "index.jsonl"), 0)) }},
		{name: "index line gone", check: "index", what: "lacks 1 line", fix: "--fix",
			do: func(t *testing.T, w *ward) {
				w.Edit(w.Path("agents", "coder", "index.jsonl"), func(s string) string { _, rest, _ := strings.Cut(s, "\n"); return rest })
			}},
		{name: "index line twice", check: "index", what: "has 1 line that", fix: "--fix",
			do: func(t *testing.T, w *ward) {
				w.Edit(w.Path("agents", "coder", "index.jsonl"), func(s string) string { return s + strings.SplitAfter(s, "\n")[1] })
			}},
		{name: "receipts with garbage", check: "receipts", what: "1 line is no receipt", note: true, stays: true,
			do: func(t *testing.T, w *ward) {
				w.Edit(w.Path("agents", "coder", "receipts.jsonl"), func(s string) string { return "garbage\n" + s })
			}},
		{name: "never sent", check: "outbox", what: "never be sent: note.txt", fix: "mv ",
			do: func(t *testing.T, w *ward) { w.write(t, w.Path("agents", "coder", "outbox", "note.txt"), "{}") },
			cure: func(t *testing.T, w *ward) {
				must(t, os.Rename(w.Path("agents", "coder", "outbox", "note.txt"), w.Path("agents", "coder", "outbox", "note.txt.json")))
			}},
		{name: "stuck", check: "outbox", what: "in the outbox for 5m: nobody routes", fix: "post route",
			do: func(_ *testing.T, w *ward) {
				w.Send("researcher", "coder", mail.Inform, "Third", "x")
				w.Clock.Advance(5 * time.Minute)
			},
			cure: func(_ *testing.T, w *ward) { w.Pass() }},
		{name: "stuck behind a broken mailbox", check: "outbox", what: "the mailbox of coder cannot be written", fix: "--fix, then post route",
			do: func(t *testing.T, w *ward) {
				must(t, os.RemoveAll(w.Path("agents", "coder", "inbox")))
				w.Send("researcher", "coder", mail.Inform, "Third", "x")
				w.Pass()
				w.Clock.Advance(5 * time.Minute)
			},
			cure: func(t *testing.T, w *ward) { w.mend(t); w.Pass() }},
		{name: "no mail file", check: "outbox", what: "no mail file", fix: "rm -r",
			do:   func(t *testing.T, w *ward) { must(t, os.Mkdir(w.Path("agents", "coder", "outbox", "x.json"), 0o700)) },
			cure: func(t *testing.T, w *ward) { must(t, os.RemoveAll(w.Path("agents", "coder", "outbox", "x.json"))) }},
		{name: "stamped elsewhere", check: "stale copy", what: "stamped for the office o-other", fix: "post where",
			do: func(t *testing.T, w *ward) {
				id := w.Send("researcher", "coder", mail.Inform, "Third", "x")
				w.Edit(w.Path("agents", "researcher", "outbox", spool.FileName(id)), func(s string) string {
					return strings.Replace(s, w.Office().Config.ID, "o-other", 1)
				})
			},
			cure: func(_ *testing.T, w *ward) { w.Pass() }},
		{name: "failed", check: "failed mail", what: "1 file of coder could not be sent; bad.json", fix: "rm ",
			do: func(t *testing.T, w *ward) {
				w.write(t, w.Path("agents", "coder", "outbox", "bad.json"), "not json")
				w.Pass()
			},
			cure: func(t *testing.T, w *ward) {
				failed := w.Path("agents", "coder", "outbox", ".failed", "bad.json")
				must(t, os.Remove(failed), os.Remove(failed+".why.json"))
			}},
		{name: "ids from the future", check: "clock", what: "ahead of this machine", fix: "date -u",
			do: func(_ *testing.T, w *ward) {
				w.Clock.Advance(time.Hour)
				w.Mail("researcher", "coder", mail.Inform, "Later", "x")
				w.Clock.Advance(-time.Hour)
			},
			cure: func(_ *testing.T, w *ward) { w.Clock.Advance(time.Hour) }},
		{name: "mail from the future", check: "clock", what: "coder has mail from the future", fix: "date -u",
			do: func(_ *testing.T, w *ward) {
				w.Clock.Advance(time.Hour)
				w.Mail("researcher", "coder", mail.Inform, "Later", "x")
				w.Clock.Advance(-time.Hour)
			},
			cure: func(_ *testing.T, w *ward) { w.Clock.Advance(time.Hour) }},
		{name: "journal damaged", check: "journal", what: "damaged", fix: "post verify", stays: true,
			do: func(_ *testing.T, w *ward) {
				w.Edit(w.Path("journal", "2026-05-30.jsonl"), func(s string) string { return strings.Replace(s, "}\n{", "\n{", 1) })
			}},
		{name: "lost in a crash", check: "journal", what: "could not be restored", fix: "post trace", stays: true,
			do: func(t *testing.T, w *ward) {
				w.journal(t, journal.Record{Event: journal.Recovered, ID: w.ids["waiting"], Detail: map[string]string{"lost": "delivered", "cause": "gone"}})
			}},
		{name: "clock jumped", check: "clock", what: "1 jump of the clock in the last week", note: true, stays: true,
			do: func(t *testing.T, w *ward) {
				w.journal(t, journal.Record{Event: journal.Drift, Detail: map[string]string{"jump": "2h0m0s"}})
			}},
	}
}

func (w *ward) journal(t *testing.T, r journal.Record) {
	t.Helper()
	must(t, w.locked(func() error {
		r.At = w.Clock.Now()
		j, err := journal.Open(w.Office().FS, r.At)
		if err != nil {
			return err
		}
		defer j.Close()
		return errors.Join(j.Append(r), j.Sync())
	}))
}

func peopleFaults() []fault {
	ask := func(t *testing.T, w *ward) {
		w.ids["ask"] = w.Mail("researcher", "coder", mail.Request, "Please", "Answer.")
		w.Clock.Advance(90 * time.Minute)
	}
	reply := func(t *testing.T, w *ward) {
		m := w.Box("coder")
		d, err := m.ReplyDraft(w.ids["ask"])
		must(t, err)
		d.Act, d.Body = mail.Done, "Here."
		_, err = m.Send(d)
		must(t, err)
		_, err = m.Finish(w.ids["ask"])
		must(t, err)
		w.Pass()
	}
	return []fault{
		{name: "overdue", check: "overdue", what: "coder owes researcher an answer", fix: "post reply", do: ask, cure: reply},
		{name: "nothing runs", check: "routing", what: "neither post serve nor post route --watch", fix: "post serve", do: ask, cure: reply},
		{name: "unread", check: "unread", what: "coder has not read", fix: "start a session of coder", do: ask, cure: reply},
		{name: "unread by the archived", check: "unread", what: "coder has not read", fix: "post agent unarchive coder", cure: reply,
			do: func(t *testing.T, w *ward) {
				ask(t, w)
				w.registry(t, func(r *registry.Registry) error { return r.Archive("a-coder", true) })
			}},
		{name: "not to be woken", check: "waking", what: "coder could not be woken 5 times", fix: "post agent set coder",
			do: func(t *testing.T, w *ward) {
				w.registry(t, func(r *registry.Registry) error {
					return r.Update("a-coder", func(e *registry.Entry) { e.Notify = []string{"tmux", "x"} })
				})
				w.write(t, w.Path("wake", "a-coder.json"), `{"v":1,"agent":"coder","tries":5,"last":{"state":"failed","evidence":"no such pane"}}`)
			},
			cure: func(t *testing.T, w *ward) { must(t, os.Remove(w.Path("wake", "a-coder.json"))) }},
		{name: "nothing to start", check: "launch", what: "coder cannot be started: its program gone is not on PATH", fix: "post agent set coder --launch",
			do: func(t *testing.T, w *ward) {
				w.host.Launches = func(program, _ string) error { return map[string]error{"gone": errors.New("is not on PATH")}[program] }
				w.registry(t, func(r *registry.Registry) error {
					return r.Update("a-coder", func(e *registry.Entry) { e.Launch = []string{"gone"} })
				})
			},
			cure: func(t *testing.T, w *ward) {
				w.registry(t, func(r *registry.Registry) error {
					return r.Update("a-coder", func(e *registry.Entry) { e.Launch = []string{"there"} })
				})
			}},
		{name: "session ended without a word", check: "session", what: "it was busy, and process 7 is gone", fix: "start it in ",
			do: func(t *testing.T, w *ward) {
				w.host.Started = func(int) (string, bool) { return "other", true }
				w.write(t, w.Path("agents", "coder", presence.File), `{"v":1,"runtime":"claude","id":"s","pid":7,"start":"9","state":"busy","since":"2026-05-30T12:00:00Z","at":"2026-05-30T12:00:00Z"}`)
			},
			cure: func(t *testing.T, w *ward) {
				w.write(t, w.Path("agents", "coder", presence.File), `{"v":1,"runtime":"claude","id":"s","pid":7,"start":"other","state":"idle","since":"2026-05-30T12:00:00Z","at":"2026-05-30T12:00:00Z"}`)
			}},
		{name: "worker that nobody keeps", check: "worker", what: "nobody keeps the worker of coder: no post serve runs for this office", fix: "post serve",
			do: func(t *testing.T, w *ward) {
				w.Mail("researcher", "coder", mail.Query, "Is it done?", "Say.")
				w.host.Worker = func(string) doctor.WorkerFacts { return doctor.WorkerFacts{} }
				w.registry(t, func(r *registry.Registry) error {
					return r.Update("a-coder", func(e *registry.Entry) { e.Notify = []string{"acp"} })
				})
			},
			cure: func(_ *testing.T, w *ward) {
				w.host.Worker = func(string) doctor.WorkerFacts { return doctor.WorkerFacts{Kept: true} }
			}},
		{name: "worker that keeps ending", check: "worker", what: "the worker of coder keeps ending, 3 times in a row, at last: exit status 1", fix: "post logs coder",
			do: func(t *testing.T, w *ward) {
				w.host.Worker = func(string) doctor.WorkerFacts {
					return doctor.WorkerFacts{Kept: true, Crashes: 3, Why: "exit status 1"}
				}
				w.registry(t, func(r *registry.Registry) error {
					return r.Update("a-coder", func(e *registry.Entry) { e.Notify = []string{"acp"} })
				})
			},
			cure: func(_ *testing.T, w *ward) {
				w.host.Worker = func(string) doctor.WorkerFacts { return doctor.WorkerFacts{Kept: true, Crashes: 2} }
			}},
		{name: "approval broken", check: "approval", what: "cannot be read", fix: "mv ",
			do: func(t *testing.T, w *ward) {
				w.Mail("researcher", "human", mail.Query, "May I?", "Do it.")
				w.write(t, w.approval(t), "{")
			},
			cure: func(t *testing.T, w *ward) { f := w.approval(t); must(t, os.Rename(f, f+".broken")) }},
		{name: "approval waits", check: "approval", what: "1 approval waits", fix: "post approvals", note: true, stays: true,
			do: func(_ *testing.T, w *ward) { w.Mail("researcher", "human", mail.Query, "May I?", "Do it.") }},
		{name: "fuse blown", check: "fuse", what: "researcher to coder", fix: "post answer",
			do: func(t *testing.T, w *ward) {
				must(t, approval.SaveFuse(w.Office().FS, approval.ConversationFuse("conv-1"), approval.Fuse{Blown: true, Approval: "release-1", Message: w.ids["waiting"]}))
			},
			cure: func(t *testing.T, w *ward) {
				must(t, approval.SaveFuse(w.Office().FS, approval.ConversationFuse("conv-1"), approval.Fuse{}))
			}},
		{name: "fuse broken", check: "fuse", what: "cannot be read", fix: "rm ",
			do:   func(t *testing.T, w *ward) { w.write(t, w.fuse(), "{") },
			cure: func(t *testing.T, w *ward) { must(t, os.Remove(w.fuse())) }},
	}
}

func (w *ward) fuse() string {
	return w.Path("fuses", string(approval.ConversationFuse("conv-1"))+".json")
}

func (w *ward) approval(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(w.Path("approvals", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// TestGitClean: a person cleans a workspace with an agent's mailbox in it.
func TestGitClean(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Log("git is not installed: the directory is removed instead")
	}
	w := newWard(t)
	work := filepath.Join(w.Root, "work")
	read := w.Mail("researcher", "sandboxed", mail.Inform, "Read", "Read, not done.")
	handled := w.Mail("researcher", "sandboxed", mail.Inform, "Handled", "Done.")
	box := w.Box("sandboxed")
	must(t, box.Receipt(mail.Receipt{Event: mail.EventRead, ID: read}))
	_, err := box.Finish(handled)
	must(t, err)
	w.Pass() // folds the receipts
	clean(t, work)
	if _, err := os.Stat(filepath.Join(work, ".mail")); err == nil {
		t.Fatal("the mailbox survived")
	}
	rep, err := verify.Run(t.Context(), w.Office(), verify.Options{})
	must(t, err)
	if rep.First == nil || rep.First.Agent != "sandboxed" {
		t.Fatalf("%+v", rep.First)
	}
	repairs, left := w.mend(t)
	if len(wrong(left)) > 0 {
		t.Fatalf("left: %+v after %+v", wrong(left), repairs)
	}
	items, err := w.Box("sandboxed").List(false)
	must(t, err)
	if len(items) != 2 || items[0].ID != w.ids["outside"] || items[0].Seq != 1 || !items[0].Unread() || items[1].ID != read || items[1].Unread() {
		t.Fatalf("%+v", items)
	}
	redelivered := map[mail.ID]int{}
	must(t, journal.Each(w.Office().FS, time.Time{}, time.Time{}, func(r journal.Record) error {
		if r.Event == journal.Redelivered {
			redelivered[r.ID]++
		}
		return nil
	}))
	if len(redelivered) != 2 || redelivered[w.ids["outside"]] != 1 || redelivered[read] != 1 {
		t.Errorf("%v", redelivered)
	}
	rep, err = verify.Run(t.Context(), w.Office(), verify.Options{})
	must(t, err)
	if rep.First != nil {
		t.Errorf("verify: %v", rep.First)
	}
}

func clean(t *testing.T, work string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		must(t, os.RemoveAll(filepath.Join(work, ".mail")))
		return
	}
	for _, args := range [][]string{{"init", "-q"}, {"clean", "-q", "-fdx"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = work, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

func TestMendRefusesACopy(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	must(t, os.Remove(w.inbox("coder", w.ids["waiting"])))
	w.Sys.Machine = func() string { return "m-other" }
	_, _, err := w.doctor().Mend(t.Context(), w.locked)
	if mail.KindOf(err) != mail.KindForeign {
		t.Fatalf("%v", err)
	}
}

// TestHandledStaysHandled: what the owner says is done is never put back.
func TestHandledStaysHandled(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	done := w.Path("agents", "coder", "inbox", ".done", spool.FileName(w.ids["done"]))
	must(t, os.Remove(done))
	if repairs, _ := w.mend(t); len(repairs) > 0 {
		t.Fatalf("%+v", repairs)
	}
	must(t, os.WriteFile(w.Path("agents", "coder", "receipts.jsonl"), nil, 0o600)) // the journal knows
	if repairs, _ := w.mend(t); len(repairs) > 0 {
		t.Fatalf("%+v", repairs)
	}
}
