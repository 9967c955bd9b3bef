package cli

import (
	"errors"
	"flag"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

// optional is a flag's text that may be given and empty.
type optional struct {
	text  string
	given bool
}

func (o *optional) String() string { return o.text }

// Set takes the value.
func (o *optional) Set(s string) error {
	o.text, o.given = s, true
	return nil
}

// compose is what the commands that write a message take.
type compose struct {
	act, subject, cc, deadline, key string
	text, file                      optional
	human, again                    bool
	wait                            time.Duration
}

// waitDefault is how long a sender waits until its mail is delivered.
const waitDefault = 10 * time.Second

func (c *compose) declare(fs *flag.FlagSet) {
	fs.StringVar(&c.act, "act", "", "the `ACT`: request, query, propose, inform, agree, refuse, done (inform if not given)")
	fs.StringVar(&c.subject, "s", "", "the `SUBJECT`; else the first line of the text")
	fs.Var(&c.text, "m", "the `TEXT`, if it is short and plain")
	fs.Var(&c.file, "f", "the `FILE` that holds the text; - is standard input")
	fs.StringVar(&c.cc, "cc", "", "copies to `A,B`, who owe no answer")
	fs.BoolVar(&c.human, "needs-human", false, "put it before a person")
	fs.StringVar(&c.deadline, "deadline", "", "when an answer is due: a length of time such as 2h, or a `TIME`")
	fs.StringVar(&c.key, "key", "", "send at most once under this `KEY`, ever")
	fs.BoolVar(&c.again, "again", false, "send although the same was sent just now")
	fs.DurationVar(&c.wait, "wait", waitDefault, "how `LONG` to wait until it is delivered")
}

// fill puts what the flags say into a draft and reads its body. dash: the text
// was asked for from standard input.
func (c *compose) fill(e *Env, d *mailbox.Draft, dash bool) error {
	if c.act != "" {
		act, err := parseAct(e, c.act)
		if err != nil {
			return err
		}
		d.Act = act
	}
	if c.subject != "" {
		d.Subject = c.subject
	}
	d.CC, d.NeedsHuman, d.Deadline, d.Key, d.Again = splitNames(c.cc), c.human, c.deadline, c.key, c.again
	var err error
	d.Body, err = c.body(e, dash)
	if err == nil && strings.TrimSpace(d.Body) == "" {
		err = usageError(e.name, "the message is empty", "give the text on standard input, with -f FILE or with -m TEXT")
	}
	return err
}

func parseAct(e *Env, s string) (mail.Act, error) {
	act := mail.Act(strings.ToLower(s))
	if act.Known() {
		return act, nil
	}
	var known []string
	for _, a := range mail.Acts() {
		known = append(known, string(a))
	}
	hint := "use " + strings.Join(known, ", ")
	if near := mail.Suggest(s, known); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	return "", usageError(e.name, "--act cannot be "+quote(s), hint)
}

// splitNames takes a list apart: "a, b" gives a and b. A name twice counts once.
func splitNames(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// body reads the text from where the flags say.
func (c *compose) body(e *Env, dash bool) (string, error) {
	switch {
	case c.text.given && (c.file.given || dash):
		return "", usageError(e.name, "the text is given twice", "give -m TEXT, -f FILE or standard input")
	case c.text.given:
		e.suspect(c.text.text)
		return c.text.text, nil
	case c.file.given && c.file.text != "-":
		return readBodyFile(e, c.file.text)
	case e.StdinTTY && !dash && !c.file.given:
		return "", usageError(e.name, "there is no text", "give -m TEXT or -f FILE, pipe it in, or say - to type it here")
	}
	return readBody(e.Stdin, "standard input")
}

func readBodyFile(e *Env, name string) (string, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.Dir, path)
	}
	f, err := openToRead(path)
	if err != nil {
		return "", bodyError(name, err)
	}
	defer f.Close()
	return readBody(f, name)
}

func readBody(r io.Reader, name string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, mail.MaxSize+1))
	switch {
	case err != nil:
		return "", bodyError(name, err)
	case len(data) > mail.MaxSize:
		return "", &mail.Error{Op: "read text", Kind: mail.KindTooLarge, Addr: name, Err: errors.New("is over 1 MiB"),
			Hint: "put the text in a file and send its path"}
	case !utf8.Valid(data):
		return "", &mail.Error{Op: "read text", Kind: mail.KindInvalid, Addr: name, Err: errors.New("is not UTF-8"),
			Hint: "write it as UTF-8; what is no text stays a file: send its path"}
	}
	return strings.TrimPrefix(string(data), "\ufeff"), nil
}

func bodyError(name string, err error) error {
	kind := mail.KindStore
	if errors.Is(err, fs.ErrNotExist) {
		kind = mail.KindNotFound
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &mail.Error{Op: "read text", Kind: kind, Addr: name, Err: err, Hint: "name a file with the text, or give it on standard input"}
}

// suspect warns when a shell may have run or taken out a part of the text.
func (e *Env) suspect(text string) {
	const advice = "; give the text on standard input or with -f FILE"
	switch {
	case strings.Contains(text, "`") || strings.Contains(text, "$("):
		e.Warn("-m holds backticks or $(, which many shells run inside double quotes%s", advice)
	case gap(text):
		e.Warn("-m looks as if the shell took something out of it (a gap)%s", advice)
	}
}

// gap reports whether a word seems to be missing: two spaces inside a
// sentence, or one before its end.
func gap(text string) bool {
	text = strings.TrimSpace(text)
	for i := 1; i+1 < len(text); i++ {
		if text[i] != ' ' || !lower(text[i-1]) {
			continue
		}
		next := text[i+1]
		if next == ' ' && i+2 < len(text) && lower(text[i+2]) {
			return true
		}
		if (next == '.' || next == ',') && (i+2 == len(text) || text[i+2] == ' ') {
			return true
		}
	}
	return false
}

func lower(c byte) bool { return c >= 'a' && c <= 'z' }
