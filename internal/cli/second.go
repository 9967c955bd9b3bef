package cli

import (
	"flag"
	"io"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/doctor"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/standing"
)

// What the command table of the second program is built from (design §2): the
// same flags, errors and help.

// Plain is a Setup without flags.
func Plain(run Run) func(*flag.FlagSet) Run { return plain(run) }

// HelpCommand explains the commands of the table it stands in.
func HelpCommand() Command { return helpCommand() }

// VersionCommand shows the version.
func VersionCommand() Command { return versionCommand() }

// Name is the command that runs, in full: "audit now".
func (e *Env) Name() string { return e.name }

// Nowhere is an output that nobody reads.
func Nowhere() *Output { return newOutput(io.Discard) }

// NeedArgs checks the number of arguments; max < 0 is no limit.
func (e *Env) NeedArgs(args []string, min, max int) error { return needArgs(e, args, min, max) }

// Usage is a wrong command line: what is wrong, and what to do about it.
func (e *Env) Usage(what, hint string) error { return usageError(e.name, what, hint) }

// Fail is a command that could not do its work.
func (e *Env) Fail(kind mail.Kind, addr string, err error, hint string) error {
	return &mail.Error{Op: e.name, Kind: kind, Addr: addr, Err: err, Hint: hint}
}

// Look opens the mailbox that a command looks at the office from. Whoever is
// nobody here looks as a person does; it gives no right to write.
func (e *Env) Look() (*mailbox.Mailbox, error) {
	d, _, err := e.openAnyDesk()
	if err != nil {
		return nil, err
	}
	return d.Mailbox, nil
}

// Fence prints somebody's words between marks that nobody can foresee.
func (e *Env) Fence(from, body string) { e.fence(from, body) }

// FindPost returns the path of post: beside this program if it stands there,
// else the bare name, which is looked up on PATH.
func (e *Env) FindPost() string {
	if path, ok := e.beside("post"); ok {
		return path
	}
	return "post"
}

// Looker looks at an office's agents as this user can.
func (e *Env) Looker(o *office.Office) (*standing.Looker, error) { return e.LookerWith(o, nil) }

// LookerWith is Looker for who looks again and again: memo keeps what did not
// change between.
func (e *Env) LookerWith(o *office.Office, memo *standing.Memo) (*standing.Looker, error) {
	v := e.View(o)
	v.Memo = memo
	return standing.NewLooker(o, v)
}

// Doctor examines the office in dir as this user can.
func (e *Env) Doctor(dir string) *doctor.Doctor {
	return &doctor.Doctor{Dir: dir, Sys: e.System, Host: e.doctorHost(dir), Table: e.adapters()}
}

// View is what this user can see of an office's agents besides their mail.
func (e *Env) View(o *office.Office) standing.View {
	return standing.View{Procs: e.Procs, Live: e.Live, RosterDir: e.rosterDir(o)}
}

// Turn is how this command waits for its turn to change the office.
func (e *Env) Turn() dispatch.Patience { return e.patience() }

// AgentTable prints how agents stand.
func (e *Env) AgentTable(list []standing.Agent) { e.agentTable(list) }
