package mcpserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/cli"
)

// Agents of other stations are listed one by one while they are few: each is a
// line that a model reads.
func TestFewFar(t *testing.T) {
	t.Parallel()
	far := func(n int) []cli.AgentView {
		list := []cli.AgentView{{Name: "coder"}}
		for i := range n {
			list = append(list, cli.AgentView{Name: fmt.Sprintf("a%d@lab", i), Station: "lab"})
		}
		return append(list, cli.AgentView{Name: "eve@zoo", Station: "zoo"})
	}
	if list, more := fewFar(far(3)); len(list) != 5 || more != "" {
		t.Errorf("%d, %q", len(list), more)
	}
	if list, more := fewFar(far(farShown)); len(list) != 1 || more != "; 40 at station lab (NAME@lab); 1 at station zoo (NAME@zoo)" {
		t.Errorf("%d, %q", len(list), more)
	}
}

func TestAgentLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    agentOne
		want string
	}{
		{agentOne{Name: "coder", You: true, Runtime: "claude", Presence: "idle", Unread: 2}, "coder (you), claude, idle, unread 2, owes 0 answers"},
		{agentOne{Name: "bob@lab", Station: "lab", Role: "reviews", Presence: "elsewhere", Owes: 1}, "bob@lab, reviews, at station lab, owes 1 answers"},
		{agentOne{Name: "bob@lab", Station: "lab", Presence: "elsewhere", Leaving: 3}, "bob@lab, at station lab, 3 on the way there, owes 0 answers"},
	} {
		if got := strings.TrimSpace(c.v.line()); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
