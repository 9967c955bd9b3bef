package doctor

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// checkOffice looks at the office's identity and settings.
func (x *exam) checkOffice() {
	if err := x.o.CheckWritable(); err != nil {
		f := opening("office", x.Dir, err)
		f.Why = "two directories that both deliver the same mail would deliver it twice, so nothing is written here"
		x.add(f)
	}
	if c := x.o.Config.PersonCheck; c != config.PersonCheckFull {
		x.add(Finding{Check: "person check", Severity: Note, Where: config.OfficeFile, What: "persons are told from agents by " + strconv.Quote(c) + " only",
			Why: "an agent may pass for a person more easily; this was chosen when the office was made"})
	}
	for _, p := range [][2]string{{"copy_all", x.o.Config.Policy.CopyAll}, {"orchestrator", x.o.Config.Policy.Orchestrator}} {
		if p[1] == "" {
			continue
		}
		if a, ok := x.reg.Agent(p[1]); !ok || a.Archived {
			x.add(Finding{Check: "config", Severity: Warning, Where: config.OfficeFile, What: p[0] + " names " + mail.Neutralise(p[1], false) + ", who is not an active agent",
				Why: "what is meant for that agent reaches nobody", Fix: "post join " + quote(p[1]) + ", or change " + p[0] + " in " + quote(x.o.FS.Path(config.OfficeFile))})
		}
	}
}

// checkPlace looks at where the office and the mailboxes stand.
func (x *exam) checkPlace() {
	x.checkDir(x.Dir, "the office", "post office move NEWDIR, to a local directory that nothing synchronises")
	for _, e := range x.reg.Entries() {
		if dir := mailboxDir(e); !inside(x.Dir, dir) {
			x.checkDir(dir, "the mailbox of "+e.Name, "post join "+e.Name+" --mailbox DIR, with a local directory that nothing synchronises")
		}
	}
}

func (x *exam) checkDir(dir, what, fix string) {
	if x.Host.Filesystem != nil {
		if kind := x.Host.Filesystem(dir); kind != "" {
			x.add(Finding{Check: "file system", Severity: Warning, Where: dir, What: what + " lies on a file system of kind " + kind,
				Why: "locks, links and syncs may not hold there: mail can be lost or delivered twice", Fix: fix})
		}
	}
	if by := SyncedBy(dir); by != "" {
		x.add(Finding{Check: "synced folder", Severity: Warning, Where: dir, What: what + " lies in a folder that " + by + " synchronises",
			Why: "files that another program copies and renames arrive twice, half, or not at all", Fix: fix})
	}
}

// heldLong is how long a lease may be held before that is worth telling. An
// always-on router takes it anew for each pass.
const heldLong = time.Minute

// checkLease looks at the router's role.
func (x *exam) checkLease() {
	path := x.o.FS.Path(spool.LeaseFile)
	fi, err := x.o.FS.Lstat(spool.LeaseFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.add(Finding{Check: "lease", Severity: Warning, Where: path, What: "the lease file is missing",
			Why:   "a process that still holds the old one and a new one see each other only by the lock on the directory",
			stage: access, mend: func() ([]string, error) { return []string{"made the lease file"}, nil }}) // by taking the lease
		return
	case err != nil:
		x.trouble("lease", path, err)
		return
	case !fi.Mode().IsRegular():
		x.add(Finding{Check: "lease", Severity: Error, Where: path, What: "the lease is no regular file", Why: "nobody can route", Fix: "mv " + quote(path) + " " + quote(path+".old")})
		return
	}
	x.leaseHolder(path)
}

func (x *exam) leaseHolder(path string) {
	f, err := x.o.FS.OpenFile(spool.LeaseFile, os.O_RDWR, 0)
	if err != nil {
		x.add(Finding{Check: "lease", Severity: Warning, Where: path, What: "this process may not write the lease: " + err.Error(),
			Why: "mail that is sent from here waits until somebody else routes", Fix: "run post route in a terminal outside the sandbox, or chmod 600 " + quote(path)})
		return
	}
	defer f.Close()
	h, known := spool.ReadHolder(x.o.FS)
	held := x.Sys.Now().Sub(h.Since)
	if !known || held < heldLong || h.PID == x.Sys.PID && h.Host == x.Sys.Host {
		return
	}
	if free, err := f.TryLock(); free || err != nil { // for a moment; a sender tries again
		return
	}
	who := "process " + strconv.Itoa(h.PID)
	state, fix := "", "see what process "+strconv.Itoa(h.PID)+" does, and end it if it hangs: kill "+strconv.Itoa(h.PID)
	switch {
	case h.Host != x.Sys.Host:
		who += " on " + mail.Neutralise(h.Host, false)
	case x.Host.Alive != nil:
		if alive, ok := x.Host.Alive(h.PID); ok && !alive {
			state, fix = ", which is dead: a process that it started still holds it", "find it with: fuser "+quote(path)
		} else if ok {
			state = ", which is alive"
		}
	}
	x.add(Finding{Check: "lease", Severity: Warning, Where: path, What: "the lease is held for " + ago(held) + " by " + who + state,
		Why: "nothing is routed meanwhile", Fix: fix})
}

// checkRegistry looks at the address book.
func (x *exam) checkRegistry() {
	if x.reg.Edited() {
		x.add(Finding{Check: "registry", Severity: Warning, Where: x.o.FS.Path(registry.File), What: "the registry was edited by hand",
			Why: "what it says decides where mail goes and which commands wake whom", Fix: "post agents, and if all is right: " + FixCommand,
			stage: mails, mend: x.signRegistry})
	}
	for _, c := range x.reg.Channels() {
		active := 0
		for _, aid := range c.Members {
			a, ok := x.reg.ByAID(aid)
			switch {
			case ok && !a.Archived:
				active++
			case ok:
				x.add(Finding{Check: "channel", Severity: Note, Where: c.Name, What: a.Name + " in channel " + c.Name + " is archived",
					Why: "what is written there is stored for somebody who is not there", Fix: "post channel remove " + c.Name + " " + a.Name})
			}
		}
		if active == 0 && len(c.Members) > 0 {
			x.add(Finding{Check: "channel", Severity: Warning, Where: c.Name, What: "nobody in channel " + c.Name + " is active",
				Why: "what is written there reaches nobody", Fix: "post channel add " + c.Name + " AGENT, or post channel remove " + c.Name})
		}
	}
}

// signRegistry saves what the registry says, so that its checksum fits.
func (x *exam) signRegistry() ([]string, error) {
	if err := x.reg.Save(x.o.FS); err != nil {
		return nil, err
	}
	return []string{"took over the registry as it is"}, nil
}
