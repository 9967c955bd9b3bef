package cli

import (
	"errors"
	"flag"
	"io"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Globals are the flags that every command takes, before or after the verb.
type Globals struct {
	Office string // --office DIR
	As     string // --as NAME
	JSON   bool   // --json
	Quiet  bool   // -q
	Help   bool   // -h
}

func (g *Globals) declare(fs *flag.FlagSet) {
	fs.StringVar(&g.Office, "office", g.Office, "work in the office `DIR` (else $POSTROOM_OFFICE, see \"post help office\")")
	fs.StringVar(&g.As, "as", g.As, "act as the agent `NAME` where no session is bound")
	fs.BoolVar(&g.JSON, "json", g.JSON, "print JSON: one object, or one a line")
	fs.BoolVar(&g.Quiet, "q", g.Quiet, "print results only")
	fs.BoolVar(&g.Help, "help", g.Help, "show help")
	fs.BoolVar(&g.Help, "h", g.Help, "show help")
}

// args gives the flags back as arguments, for the other program.
func (g Globals) args() []string {
	var list []string
	if g.Office != "" {
		list = append(list, "--office="+g.Office)
	}
	if g.As != "" {
		list = append(list, "--as="+g.As)
	}
	for _, b := range []struct {
		set  bool
		flag string
	}{{g.JSON, "--json"}, {g.Quiet, "-q"}, {g.Help, "--help"}} {
		if b.set {
			list = append(list, b.flag)
		}
	}
	return list
}

func newFlagSet(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// List is a flag that may be given more than once.
type List []string

func (l *List) String() string { return strings.Join(*l, " ") }

// Set adds one value.
func (l *List) Set(s string) error {
	*l = append(*l, s)
	return nil
}

type boolFlag interface{ IsBoolFlag() bool }

// parser takes flags out of arguments wherever they stand.
type parser struct {
	fs   *flag.FlagSet
	cmd  string // for errors
	seen map[string]bool
	// stop ends parsing at the first argument that is no flag.
	stop bool
}

// parse sets the flags and returns the other arguments and, if stop is set,
// what was not looked at. Behind "--" everything is an argument. A flag with
// one value given twice is an error: one of the two would be lost.
func (p *parser) parse(args []string) (rest []string, err error) {
	p.seen = map[string]bool{}
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--" && !p.stop:
			return append(rest, args[1:]...), nil
		case len(arg) < 2 || arg[0] != '-' || arg == "--":
			if p.stop {
				return args, nil
			}
			rest, args = append(rest, arg), args[1:]
		default:
			if args, err = p.flag(arg, args[1:]); err != nil {
				return nil, err
			}
		}
	}
	return rest, nil
}

// flag sets one flag and returns what follows it.
func (p *parser) flag(arg string, next []string) ([]string, error) {
	name, value, inline := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
	f := p.fs.Lookup(name)
	if f == nil {
		return nil, p.unknown(arg, name)
	}
	if b, ok := f.Value.(boolFlag); ok && b.IsBoolFlag() {
		if !inline {
			value = "true"
		}
		if err := f.Value.Set(value); err != nil {
			return nil, usageError(p.cmd, arg+" takes no value", "")
		}
		return next, nil
	}
	if !inline {
		if len(next) == 0 {
			return nil, usageError(p.cmd, arg+" wants a value", seeHelp(p.cmd))
		}
		value, next = next[0], next[1:]
	}
	_, many := f.Value.(*List) // may hold another program's flags
	switch {
	case !many && p.seen[name]:
		return nil, usageError(p.cmd, dashed(name)+" is given twice", "give it once")
	case !many && !inline && p.isFlag(value):
		return nil, usageError(p.cmd, arg+" wants a value, and "+value+" is a flag", "if that is the value, write "+dashed(name)+"="+value)
	}
	p.seen[name] = true
	if err := f.Value.Set(value); err != nil {
		what, hint := p.unfit(f.Value, err)
		return nil, usageError(p.cmd, dashed(name)+" cannot be "+quote(value)+": "+what, hint)
	}
	return next, nil
}

// isFlag reports whether a word is a flag of this command, as it is written.
func (p *parser) isFlag(word string) bool {
	name, one := strings.CutPrefix(word, "-")
	name, two := strings.CutPrefix(name, "-")
	return one && (two || len(name) == 1) && p.fs.Lookup(name) != nil
}

// unfit says what is wrong with a flag's value, and what to write instead.
func (p *parser) unfit(v flag.Value, err error) (what, hint string) {
	if g, ok := v.(flag.Getter); ok {
		switch g.Get().(type) {
		case time.Duration:
			return "it is no length of time", "write one such as 90s, 10m or 2h"
		case int:
			return "it is no whole number", seeHelp(p.cmd)
		}
	}
	return reason(err), seeHelp(p.cmd)
}

func (p *parser) unknown(arg, name string) error {
	var known []string
	p.fs.VisitAll(func(f *flag.Flag) {
		if len(f.Name) > 1 {
			known = append(known, f.Name)
		}
	})
	hint := seeHelp(p.cmd)
	if near := mail.Suggest(name, known); len(near) > 0 {
		hint = "did you mean --" + near[0] + "?"
	}
	shown, _, _ := strings.Cut(arg, "=")
	return usageError(p.cmd, "unknown flag "+quote(shown), hint)
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func seeHelp(cmd string) string { return `see "` + strings.TrimSpace("post help "+cmd) + `"` }

// quote shows what somebody typed, in words if it is plain.
func quote(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\"") {
		return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
	}
	return s
}

// reason takes the flag package's wording off a parse error.
func reason(err error) string {
	if u := errors.Unwrap(err); u != nil {
		return u.Error()
	}
	return err.Error()
}
