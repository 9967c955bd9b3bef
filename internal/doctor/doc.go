// Package doctor finds what is wrong with an office, says why it matters and
// what mends it, and mends what is safe to mend (design §14).
//
// Invariants. Examine changes nothing. Mend runs under the router's lease; each
// of its repairs can be cut short at any point and done again, takes nothing
// away that is not kept elsewhere, and is told. Mail is put back only as the
// journal's digest has it, and never if the journal or the owner's receipts
// show that it was handled.
package doctor

import (
	"context"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/verify"
)

// Severity says how bad a finding is.
type Severity string

// The severities. Notes are for information: they find nothing wrong.
const (
	Error   Severity = "error"   // mail is lost, stuck or about to be
	Warning Severity = "warning" // something does not work as somebody expects
	Note    Severity = "note"
)

// Finding is one thing that a person should know.
type Finding struct {
	Check    string   `json:"check"` // "permissions", "lease", …: stable
	Severity Severity `json:"severity"`
	Where    string   `json:"where,omitempty"` // a path or an agent
	ID       mail.ID  `json:"id,omitempty"`
	What     string   `json:"what"` // these three are sentences without a full stop
	Why      string   `json:"why,omitempty"`
	Fix      string   `json:"fix,omitempty"` // a command, or words where none exists
	// Mends: post doctor --fix mends it.
	Mends bool `json:"mends,omitempty"`

	stage stage
	mend  func() (done []string, err error)
}

// stage orders the repairs: what a later one needs comes first.
type stage int

const (
	access stage = iota // permissions
	places              // directories and files that have to be there
	mails               // what belongs into them
	stages
)

// Doctor examines one office.
type Doctor struct {
	Table notify.Table // how people are told; nil: it is not looked at
	Dir   string       // of the office, absolute
	Sys   office.System
	Host  Host
}

// exam is one examination.
type exam struct {
	*Doctor
	ctx      context.Context
	o        *office.Office
	reg      *registry.Registry
	boxes    []*box
	book     *verify.Book
	findings []Finding
}

// FixCommand is the command that mends what can be mended.
const FixCommand = "post doctor --fix"

// Examine looks at everything and returns what it found, in the order of the
// checks. An office that cannot be opened is a finding like any other.
func (d *Doctor) Examine(ctx context.Context) []Finding { return d.examine(ctx).findings }

func (d *Doctor) examine(ctx context.Context) *exam {
	x := &exam{Doctor: d, ctx: ctx}
	if !x.open() {
		x.checkHooks() // which could not either, and have nobody else to tell
		return x
	}
	for _, check := range []func(){
		x.checkOffice, x.checkPlace, x.checkPermissions, x.checkLease, x.checkRegistry,
		x.openBoxes, x.checkBoxes, x.checkDeliveries, x.checkIndexes, x.checkReceipts,
		x.checkOutboxes, x.checkFailed, x.checkStrays, x.checkClocks, x.checkJournal,
		x.checkDebts, x.checkUnread, x.checkLink, x.checkWakes, x.checkAgents, x.checkPeople, x.checkHooks, x.checkInstalled, x.checkTools, x.checkServe, x.checkAudit, x.checkDisk,
	} {
		if ctx.Err() != nil {
			break
		}
		check()
	}
	return x
}

func (x *exam) add(f Finding) {
	f.Mends = f.mend != nil
	if f.Mends && f.Fix == "" {
		f.Fix = FixCommand
	}
	x.findings = append(x.findings, f)
}

// trouble adds what kept a check from looking.
func (x *exam) trouble(check, where string, err error) {
	x.add(Finding{Check: check, Severity: Error, Where: where, What: "cannot be looked at: " + err.Error(),
		Why: "what is wrong there cannot be seen", Fix: "mend that, then run post doctor again"})
}

func (x *exam) open() bool {
	o, err := office.Open(x.Dir, x.Sys)
	if err != nil {
		x.add(opening("office", x.Dir, err))
		return false
	}
	x.o = o
	if x.reg, err = o.Registry(); err != nil {
		x.add(opening("registry", x.o.FS.Path(registry.File), err))
		return false
	}
	return true
}

func opening(check, where string, err error) Finding {
	f := Finding{Check: check, Severity: Error, Where: where, What: err.Error(), Why: "no mail moves until this is mended",
		Fix: "restore the file from a backup"}
	if e, ok := err.(*mail.Error); ok && e.Hint != "" && !strings.Contains(e.Hint, "post doctor") {
		f.Fix = e.Hint
		short := *e
		short.Hint = ""
		f.What = short.Error()
	}
	return f
}
