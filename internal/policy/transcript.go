package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/postroom/postroom/internal/mail"
)

// maxJoined is how long the joined names in a channel's file name may be, in
// bytes; file systems end at 255.
const maxJoined = 200

const arrow = "→"

// transcripts says into which files a delivered message is written (design
// §10): a channel's into the channel's only, everything else into the
// transcript of each inbox; a copy says that it is one.
func (p *planner) transcripts(r *route) []Action {
	var out []Action
	header := p.name + arrow + r.label
	section := func(file, header string) {
		out = append(out, Transcript{File: file, Header: header})
	}
	if r.channel != nil {
		section(ChannelTranscript(r.channel), header)
	} else {
		for _, a := range r.to {
			section(InboxTranscript(a), header)
		}
	}
	if r.person {
		section(inboxFile(mail.NameHuman), header)
	}
	for _, a := range r.cc {
		section(InboxTranscript(a), header+" (cc)")
	}
	if r.ccPerson {
		section(inboxFile(mail.NameHuman), header+" (cc)")
	}
	return out
}

// InboxTranscript is the file name of an agent's transcript.
func InboxTranscript(a Agent) string {
	if a.Transcript != "" {
		return a.Transcript
	}
	return inboxFile(a.Name)
}

func inboxFile(name string) string { return "_inbox_" + name + ".md" }

// ChannelTranscript is the file name of a channel's transcript: its members'
// names, sorted, so that their order does not matter. A long list is cut after
// a whole name and ends in how many are left and a hash of all; + is in no name.
func ChannelTranscript(members []Agent) string {
	sorted := append([]Agent(nil), members...)
	sortByName(sorted)
	joined := names(sorted, "_")
	if len(joined) <= maxJoined {
		return "_channel_" + joined + ".md"
	}
	sum := sha256.Sum256([]byte(joined))
	head, n := "", 0
	for _, a := range sorted {
		if len(head)+len(a.Name)+1 > maxJoined-40 {
			break
		}
		head += a.Name + "_"
		n++
	}
	return fmt.Sprintf("_channel_%s+%d_%s.md", head, len(sorted)-n, hex.EncodeToString(sum[:8]))
}
