package cli

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// usageError is a wrong command line. It reads "snd: unknown command; did you
// mean send?".
func usageError(cmd, what, hint string) error {
	return &mail.Error{Op: cmd, Kind: mail.KindUsage, Err: errors.New(what), Hint: hint}
}

// needArgs checks the number of arguments; max < 0 is no limit.
func needArgs(e *Env, args []string, min, max int) error {
	switch {
	case len(args) < min:
		return usageError(e.name, "too few arguments", "usage: post "+e.name+" "+e.cmd.Usage)
	case max >= 0 && len(args) > max:
		return usageError(e.name, "does not know what to do with "+quote(args[max]), strings.TrimSpace("usage: post "+e.name+" "+e.cmd.Usage))
	}
	return nil
}

// said is an error whose story has been told: only the exit code is left.
type said int

func (s said) Error() string { return "already said" }

// Said returns an error that prints nothing and exits with code; nil for 0.
func Said(code int) error {
	if code == mail.ExitOK {
		return nil
	}
	return said(code)
}

// exitOf returns the exit code of a command that ended with err.
func exitOf(err error) int {
	var s said
	switch {
	case err == nil:
		return mail.ExitOK
	case errors.As(err, &s):
		return int(s)
	}
	return mail.KindOf(err).Exit()
}

// errorObject is the "error" of --json.
type errorObject struct {
	Kind    mail.Kind `json:"kind"`
	Op      string    `json:"op,omitempty"`
	Addr    string    `json:"addr,omitempty"`
	ID      mail.ID   `json:"id,omitempty"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"`
	Exit    int       `json:"exit"`
}

// errorOf is the "error" that says err.
func errorOf(err error) errorObject {
	o := errorObject{Kind: mail.KindOf(err), Message: err.Error(), Exit: exitOf(err)}
	var e *mail.Error
	if errors.As(err, &e) {
		o.Op, o.Addr, o.ID, o.Hint = e.Op, e.Addr, e.ID, e.Hint
		if e.Err != nil {
			o.Message = e.Err.Error()
		} else {
			o.Message = string(e.Kind)
		}
	}
	return o
}

func jsonError(err error) []byte {
	data, _ := json.Marshal(struct {
		V     int         `json:"v"`
		Error errorObject `json:"error"`
	}{1, errorOf(err)}) // strings and numbers always marshal
	return append(escapeHidden(data), '\n')
}

// FailedLine says why a message was not stored (design §6):
//
//	FAILED(unknown agent): codr. Did you mean coder?
func FailedLine(err error) string {
	var e *mail.Error
	if !errors.As(err, &e) {
		e = &mail.Error{Kind: mail.KindOf(err), Err: err}
	}
	var parts []string
	what := ""
	if e.Err != nil && !mistyped(e) {
		what = e.Err.Error()
	}
	addr := e.Addr
	if e.Kind == mail.KindUnknown && what != "" {
		addr = "" // "zed is nobody in this office" names it; the message may go to another
	}
	for _, s := range []string{string(e.ID), addr, what} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	text := sentence(strings.Join(parts, ": "))
	if e.Hint != "" {
		text += " " + sentence(strings.ToUpper(e.Hint[:1])+e.Hint[1:])
	}
	return "FAILED(" + string(e.Kind) + "): " + strings.TrimSpace(text)
}

// mistyped reports whether kind, name and suggestion say it all.
func mistyped(e *mail.Error) bool {
	return e.Kind == mail.KindUnknown && strings.HasPrefix(e.Hint, "did you mean ") && strings.Contains(e.Err.Error(), e.Addr)
}

func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, "?") || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") {
		return s
	}
	return s + "."
}
