package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestInboxTranscript(t *testing.T) {
	t.Parallel()
	if f := InboxTranscript(Agent{Name: "coder"}); f != "_inbox_coder.md" {
		t.Error(f)
	}
	if f := InboxTranscript(Agent{Name: "coder", Transcript: "_inbox_old-name.md"}); f != "_inbox_old-name.md" {
		t.Error("the registry's name does not count:", f)
	}
}

func TestChannelTranscript(t *testing.T) {
	t.Parallel()
	small := []Agent{agent("zoe"), agent("m.x"), agent("ann")}
	if f := ChannelTranscript(small); f != "_channel_ann_m.x_zoe.md" {
		t.Error(f)
	}
	if small[0].Name != "zoe" {
		t.Error("the caller's list was sorted")
	}
	var large []Agent
	for i := range 60 {
		large = append(large, agent(fmt.Sprintf("agent-%02d", i)))
	}
	f := ChannelTranscript(large)
	if len(f) > 255 || !strings.HasPrefix(f, "_channel_agent-00_agent-01_") {
		t.Error(len(f), f)
	}
	reversed := slices.Clone(large)
	slices.Reverse(reversed)
	if ChannelTranscript(reversed) != f {
		t.Error("the order of members plays a part")
	}
	other := slices.Clone(large)
	other[59] = agent("agent-99")
	if ChannelTranscript(other) == f {
		t.Error("two channels, one file")
	}
	long := []Agent{agent(strings.Repeat("a", 64)), agent(strings.Repeat("b", 64)), agent(strings.Repeat("c", 64)), agent(strings.Repeat("d", 64))}
	if f := ChannelTranscript(long); len(f) > 255 {
		t.Error(len(f), f)
	}
}
