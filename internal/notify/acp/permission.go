package acp

import (
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/postroom/postroom/internal/install"
)

// policy decides about one agent's permission requests.
type policy struct {
	agent   string   // its name
	office  string   // absolute directory
	program string   // what its prompts call post: "post", or its path
	kinds   []string // of tools, that a person allowed
}

// decision is an answer, and what the log says of it. The words hold nothing
// that the model wrote but a program's name.
type decision struct {
	allow bool
	words string
}

// decide says whether a tool may run. The default is no.
func (p policy) decide(call sdk.ToolCallUpdate) decision {
	kind := "unknown"
	if call.Kind != nil {
		kind = word(string(*call.Kind))
	}
	if command, ok := commandOf(call); ok {
		words, plain := split(command)
		switch {
		case plain && p.ours(words):
			return decision{true, "allowed: post " + words[1]}
		case slices.Contains(p.kinds, kind):
			return decision{true, "allowed: " + kind + ", as registered"}
		case plain && len(words) > 0:
			return decision{false, "refused: " + kind + ": " + word(filepath.Base(words[0]))}
		}
		return decision{false, "refused: " + kind + ": not a plain command"}
	}
	if slices.Contains(p.kinds, kind) {
		return decision{true, "allowed: " + kind + ", as registered"}
	}
	return decision{false, "refused: " + kind}
}

// commandOf is the command line that a shell tool is to run. It is in the tool's
// input or, with an agent that does not show that, all of the title.
func commandOf(call sdk.ToolCallUpdate) (string, bool) {
	if call.Kind == nil || *call.Kind != sdk.ToolKindExecute {
		return "", false
	}
	switch in := call.RawInput.(type) {
	case nil:
		if call.Title != nil {
			return *call.Title, true
		}
	case map[string]any:
		if s, ok := in["command"].(string); ok {
			return s, true
		}
	}
	return "", true // something is to run, and nobody says what
}

// ours reports whether words are one of the mail verbs of our own program, for
// this agent and this office.
func (p policy) ours(words []string) bool {
	if len(words) < 2 || words[0] != p.program && words[0] != "post" || !slices.Contains(install.MailVerbs(), words[1]) {
		return false
	}
	for i, w := range words[2:] {
		name, value, inline := strings.Cut(strings.TrimPrefix(w, "-"), "=")
		want, known := map[string]string{"-as": p.agent, "as": p.agent, "-office": p.office, "office": p.office}[name]
		if !strings.HasPrefix(w, "-") || !known {
			continue
		}
		if !inline {
			if value = ""; i+3 < len(words) {
				value = words[i+3]
			}
		}
		if value != want && (value != "agent."+want || want != p.agent) {
			return false // as somebody else, or elsewhere
		}
	}
	return true
}

// split takes a command line apart as a POSIX shell would, if a shell would do
// nothing with it but run one program: no operator, no expansion, no variable.
func split(line string) (words []string, plain bool) {
	var b strings.Builder
	open, in := byte(0), false // the quote that is open; within a word
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == 0:
			return nil, false
		case open == '\'' && c == '\'', open == '"' && c == '"':
			open = 0
		case open == '\'':
			b.WriteByte(c)
		case open == '"' && strings.IndexByte("$`\\!", c) >= 0:
			return nil, false
		case open == '"':
			b.WriteByte(c)
		case c == '\'' || c == '"':
			open, in = c, true
		case c == ' ' || c == '\t':
			if in {
				words, in = append(words, b.String()), false
				b.Reset()
			}
		case !bare(c):
			return nil, false
		default:
			in = true
			b.WriteByte(c)
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words, open == 0
}

// bare reports whether a byte means nothing to a shell outside of quotes.
func bare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("/._-+:@,=%", c) >= 0
}

// word makes a name fit for the log: short, and nothing but a name.
func word(s string) string {
	out := strings.Map(func(r rune) rune {
		if r < 0x80 && (bare(byte(r))) {
			return r
		}
		return '?'
	}, s)
	return out[:min(len(out), 40)]
}

// answer chooses among the options that the agent offers: once, never for ever.
// Where there is none to refuse with, the request is cancelled.
func answer(allow bool, options []sdk.PermissionOption) sdk.RequestPermissionOutcome {
	want := sdk.PermissionOptionKindRejectOnce
	if allow {
		want = sdk.PermissionOptionKindAllowOnce
	}
	for _, o := range options {
		if o.Kind == want {
			return sdk.NewRequestPermissionOutcomeSelected(o.OptionId)
		}
	}
	return sdk.NewRequestPermissionOutcomeCancelled()
}
