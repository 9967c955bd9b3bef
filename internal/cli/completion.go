package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
)

func completionCommand() Command {
	return Command{
		Name: "completion", Summary: "print shell completion", Usage: "bash | zsh | fish",
		Long: "Completes commands and flags.",
		Examples: []string{
			`source <(post completion bash)`,
			`post completion zsh > "${fpath[1]}/_post"`,
			`post completion fish > ~/.config/fish/completions/post.fish`,
		},
		Setup: plain(func(_ context.Context, e *Env, args []string) error {
			if err := needArgs(e, args, 1, 1); err != nil {
				return err
			}
			write, ok := map[string]func([]Command) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[args[0]]
			if !ok {
				return usageError(e.name, "does not know the shell "+quote(args[0]), "say bash, zsh or fish")
			}
			e.Out.Printf("%s", write(e.table.All()))
			return nil
		}),
	}
}

// verb is one thing that may be typed, flattened out of the table.
type verb struct {
	path    string // "agent set"
	summary string
	words   []string // what may follow: commands, then flags
}

// verbs lists every visible command, groups before what they hold; the first
// is the bare program.
func verbs(table []Command) []verb {
	globals := flagNames(globalFlags())
	list := []verb{{"", "", append(names(table), globals...)}}
	var walk func(prefix string, table []Command)
	walk = func(prefix string, table []Command) {
		for _, c := range table {
			if c.Hidden {
				continue
			}
			v := verb{path: strings.TrimSpace(prefix + " " + c.Name), summary: c.Summary, words: names(c.Subs)}
			if fs := commandFlags(c); fs != nil {
				v.words = append(v.words, flagNames(fs)...)
			}
			v.words = append(v.words, globals...)
			list = append(list, v)
			walk(v.path, c.Subs)
		}
	}
	walk("", table)
	return list
}

func flagNames(fs *flag.FlagSet) []string {
	var list []string
	fs.VisitAll(func(f *flag.Flag) { list = append(list, dashed(f.Name)) })
	slices.Sort(list)
	return list
}

func bashCompletion(table []Command) string {
	var b strings.Builder
	b.WriteString(`# bash completion for post
_post() {
    local word path="" words
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$word" in
            -*) ;;
            *) path="${path:+$path }$word" ;;
        esac
    done
    while :; do
        case "$path" in
`)
	for _, v := range verbs(table) {
		fmt.Fprintf(&b, "            %q) words=%q; break ;;\n", v.path, strings.Join(v.words, " "))
	}
	b.WriteString(`        esac
        [ -z "$path" ] && break
        case "$path" in
            *" "*) path="${path% *}" ;;
            *) path="" ;;
        esac
    done
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
    [ ${#COMPREPLY[@]} -eq 0 ] && COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _post post
`)
	return b.String()
}

func zshCompletion(table []Command) string {
	return "#compdef post\nautoload -U +X bashcompinit && bashcompinit\n" + bashCompletion(table)
}

func fishCompletion(table []Command) string {
	var b strings.Builder
	b.WriteString("# fish completion for post\n")
	esc := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }
	for _, c := range table {
		if c.Hidden {
			continue
		}
		fmt.Fprintf(&b, "complete -c post -n __fish_use_subcommand -a %s -d %s\n", c.Name, esc(c.Summary))
		for _, s := range c.Subs {
			fmt.Fprintf(&b, "complete -c post -n '__fish_seen_subcommand_from %s' -a %s -d %s\n", c.Name, s.Name, esc(s.Summary))
		}
		fishFlags(&b, "__fish_seen_subcommand_from "+c.Name, commandFlags(c), esc)
	}
	fishFlags(&b, "", globalFlags(), esc)
	return b.String()
}

func fishFlags(b *strings.Builder, when string, fs *flag.FlagSet, esc func(string) string) {
	if fs == nil {
		return
	}
	fs.VisitAll(func(f *flag.Flag) {
		opt := "-l " + f.Name
		if len(f.Name) == 1 {
			opt = "-s " + f.Name
		}
		if bf, ok := f.Value.(boolFlag); !ok || !bf.IsBoolFlag() {
			opt += " -r"
		}
		_, usage := flag.UnquoteUsage(f)
		cond := ""
		if when != "" {
			cond = " -n " + esc(when)
		}
		fmt.Fprintf(b, "complete -c post%s %s -d %s\n", cond, opt, esc(usage))
	})
}
