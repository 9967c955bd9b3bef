package install

import (
	"path/filepath"
	"strings"
)

// Quote writes one word for a POSIX shell, which is what the runtimes give
// hooks to. A space in a path must not end the program's name.
func Quote(word string) string {
	plain := word != ""
	for _, c := range word {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-+:@%", c))
	}
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// splitWords takes a command apart as a shell does, as far as it has only
// words; ok is false for anything else.
func splitWords(line string) (words []string, ok bool) {
	var b strings.Builder
	in, open := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case open == '\'' && c != '\'', open == '"' && c != '"' && c != '\\':
			b.WriteByte(c)
		case open == c && open != 0:
			open = 0
		case open == 0 && (c == '\'' || c == '"'):
			open, in = c, true
		case c == '\\':
			if i++; i == len(line) {
				return nil, false
			}
			b.WriteByte(line[i])
			in = true
		case c == ' ' || c == '\t':
			if in {
				words = append(words, b.String())
				b.Reset()
				in = false
			}
		case strings.IndexByte("|&;<>()$`\n*?#~", c) >= 0:
			return nil, false
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words, open == 0
}

// isPost reports whether a path is that of our program.
func isPost(path string) bool {
	base := strings.ToLower(filepath.Base(filepath.ToSlash(path)))
	return base == "post" || base == "post.exe"
}

// ourHook returns the program that a hook's command calls, if the command is
// one that we install for the runtime.
func ourHook(command, runtime string) (post string, ok bool) {
	words, plain := splitWords(command)
	if !plain || len(words) < 3 || !isPost(words[0]) || words[1] != "hook" || words[2] != runtime {
		return "", false
	}
	return words[0], true
}

// OurHook reports whether a command is the one that we install for a runtime.
func OurHook(command, runtime string) bool {
	_, ok := ourHook(command, runtime)
	return ok
}
