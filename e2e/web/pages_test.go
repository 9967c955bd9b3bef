//go:build e2e

package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// busy is how many messages the office of a scenario has that looks at pages.
const busy = 400

// sheet is one page to look at.
type sheet struct{ name, path string }

// pages are all pages, with something on those that are about one thing.
func (p *place) pages() []sheet {
	p.t.Helper()
	list := []sheet{{"floor", "/"}, {"inbox", "/inbox"}, {"threads", "/threads"}, {"agents", "/agents"}, {"debts", "/debts"}, {"health", "/health"},
		{"compose", "/compose"}, {"search-empty", "/search"}, {"search", "/search?q=index"}, {"search-nothing", "/search?q=xyzzy"}, {"agent", "/agents/backend"},
		{"nothing", "/nothing-here"}}
	for i, a := range p.rows("approvals") {
		list = append(list, sheet{fmt.Sprintf("approval-%d-%s", i, word(a, "kind")), "/inbox/" + word(a, "id")})
	}
	if id, conversation := p.longest(); id != "" {
		list = append(list, sheet{"thread", "/threads/" + url.PathEscape(conversation)}, sheet{"message", "/message/" + id})
	}
	return list
}

// longest is the conversation with the most messages, and its first message.
func (p *place) longest() (id, conversation string) {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "messages", "*", "*.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	first, count := map[string]string{}, map[string]int{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		var m struct{ Conversation string }
		if err == nil && json.Unmarshal(data, &m) == nil {
			if count[m.Conversation]++; first[m.Conversation] == "" {
				first[m.Conversation] = strings.TrimSuffix(filepath.Base(f), ".json")
			}
		}
	}
	for c, n := range count {
		if n > count[conversation] || n == count[conversation] && c < conversation {
			conversation = c
		}
	}
	return first[conversation], conversation
}
