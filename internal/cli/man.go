package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
)

func manCommand() Command {
	return Command{
		Name: "man", Summary: "write the manual pages", Usage: "DIR", Hidden: true,
		Setup: plain(func(_ context.Context, e *Env, args []string) error {
			if err := needArgs(e, args, 1, 1); err != nil {
				return err
			}
			dir := identity.Absolute(e.Dir, args[0])
			for name, text := range ManPages(e.table.All()) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					return &mail.Error{Op: e.name, Kind: mail.KindStore, Addr: name, Err: err}
				}
			}
			return nil
		}),
	}
}

// ManPages renders the manual from the table: post.1, one page a command, and
// post-office.5.
func ManPages(table []Command) map[string]string {
	pages := map[string]string{"post.1": mainPage(table), "post-office.5": officePage}
	for _, c := range table {
		if !c.Hidden && !c.Postd { // postd writes those itself
			pages["post-"+c.Name+".1"] = commandPage(c.Name, c)
		}
	}
	return pages
}

// roff escapes text: backslashes, and a control character at a line's start.
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func heading(page, section string) string {
	return fmt.Sprintf(".TH %s %s \"\" Postroom \"Postroom manual\"\n", strings.ToUpper(page), section)
}

func mainPage(table []Command) string {
	var b strings.Builder
	b.WriteString(heading("post", "1"))
	b.WriteString(".SH NAME\npost \\- durable mail between coding agents\n")
	b.WriteString(".SH SYNOPSIS\n.B post\nCOMMAND [ARGUMENT…] [FLAG…]\n.SH COMMANDS\n")
	heading := ""
	for _, c := range table {
		if !c.Hidden {
			if c.Group != heading {
				b.WriteString(".SS " + roff(c.Group) + "\n")
			}
			heading = c.Group
			fmt.Fprintf(&b, ".TP\n.BR post\\-%s (1)\n%s\n", roff(c.Name), roff(c.Summary))
		}
	}
	b.WriteString(".SH FLAGS OF EVERY COMMAND\n" + flagList(globalFlags()))
	for _, t := range topics() {
		title, text, _ := strings.Cut(t.text, "\n")
		b.WriteString(".SH " + strings.ToUpper(roff(title)) + "\n" + literal(strings.Trim(text, "\n")))
	}
	b.WriteString(".SH SEE ALSO\n.BR post\\-office (5)\n")
	return b.String()
}

func commandPage(name string, c Command) string {
	var b strings.Builder
	b.WriteString(heading("post-"+name, "1"))
	fmt.Fprintf(&b, ".SH NAME\npost\\-%s \\- %s\n.SH SYNOPSIS\n", roff(name), roff(c.Summary))
	if c.Subs == nil || c.Setup != nil {
		fmt.Fprintf(&b, ".B post %s\n%s\n", roff(name), roff(c.Usage))
		if c.Subs != nil {
			b.WriteString(".br\n")
		}
	}
	for _, s := range c.Subs {
		fmt.Fprintf(&b, ".B post %s %s\n%s\n.br\n", roff(name), roff(s.Name), roff(s.Usage))
	}
	manBody(&b, c)
	for _, s := range c.Subs {
		fmt.Fprintf(&b, ".SH %s\n%s.\n", strings.ToUpper(roff(s.Name)), roff(upperFirst(s.Summary)))
		manBody(&b, s)
	}
	b.WriteString(".SH SEE ALSO\n.BR post (1)\n")
	return b.String()
}

// manBody renders what a command and a command within a group have alike.
func manBody(b *strings.Builder, c Command) {
	group := strings.Contains(b.String(), ".SH DESCRIPTION") || c.Subs != nil
	section := func(title string) {
		if group {
			b.WriteString(".PP\n.I " + title + "\n")
			return
		}
		b.WriteString(".SH " + strings.ToUpper(title) + "\n")
	}
	if c.Long != "" {
		if !strings.Contains(b.String(), ".SH DESCRIPTION") {
			b.WriteString(".SH DESCRIPTION\n")
		} else {
			b.WriteString(".PP\n")
		}
		b.WriteString(paragraphs(strings.TrimSpace(c.Long)))
	}
	if c.Person {
		b.WriteString(".PP\nA person's command: refused inside an agent's session.\n")
	}
	if fs := commandFlags(c); fs != nil {
		if text := flagList(fs); text != "" {
			section("Flags")
			b.WriteString(text)
		}
	}
	if len(c.Examples) > 0 {
		section("Examples")
		b.WriteString(literal(strings.Join(c.Examples, "\n")))
	}
}

// paragraphs renders text that is wrapped by hand; indented lines stay as they
// are.
func paragraphs(text string) string {
	var b strings.Builder
	asIs := false
	for line := range strings.SplitSeq(text, "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != asIs {
			asIs = indented
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[asIs])
		}
		if line == "" {
			line = ".PP"
		} else {
			line = roff(line)
		}
		b.WriteString(line + "\n")
	}
	if asIs {
		b.WriteString(".fi\n")
	}
	return b.String()
}

func literal(text string) string { return ".nf\n" + roff(text) + "\n.fi\n" }

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func flagList(fs *flag.FlagSet) string {
	var b strings.Builder
	fs.VisitAll(func(f *flag.Flag) {
		if f.Name == "h" {
			return
		}
		value, usage := flag.UnquoteUsage(f)
		if bf, ok := f.Value.(boolFlag); ok && bf.IsBoolFlag() {
			value = ""
		}
		fmt.Fprintf(&b, ".TP\n.B %s %s\n%s\n", roff(dashed(f.Name)), roff(value), roff(usage))
	})
	return b.String()
}

const officePage = `.TH POST-OFFICE 5 "" Postroom "Postroom manual"
.SH NAME
postroom.toml \- settings of an office
.SH DESCRIPTION
The file stands in the office's directory and is written once by
.BR post\-init (1).
Edit the table [policy]; the other keys are the office's identity.
.SH IDENTITY
.TP
.B format
The on\-disk format. A newer one is refused.
.TP
.B office
The office's id; stamped into every message.
.TP
.B name
A name for people.
.TP
.B machine, inode
Where the office was made. An office that finds itself elsewhere refuses to be written; see
.BR post\-office (1).
.TP
.B created, made_with
When, and by which version.
.TP
.B person_check
How a person is told from an agent: env+parents (default), env or off.
.SH POLICY
Durations are written as "90m" or "24h".
.TP
.B hop_cap
How many replies may follow one another before a person must release the next (12).
.TP
.B fuse_turns, fuse_per_hour
How often the word may pass between agents in one conversation (24), and for one agent in an hour (240).
.TP
.B due
When an answer is due if the message says nothing (1h).
.TP
.B expire_question
How long a question waits for a person (168h).
.TP
.B ask_again
How long a person's no answers the same question (24h).
.TP
.B undeliverable_after
How long delivery to a broken mailbox is tried before the sender is told (1h).
.TP
.B copy_all
An agent that is copied on everything.
.TP
.B orchestrator
The agent that answers to "god".
.TP
.B arrow
The arrow in transcripts: "→" (default) or "\->".
.TP
.B audit
"none" (default) or "git".
.SH SEE ALSO
.BR post (1),
.BR post\-init (1)
`
