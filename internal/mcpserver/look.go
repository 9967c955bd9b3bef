package mcpserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
)

type agentsView struct {
	Agents []agentOne `json:"agents"`
	Note   string     `json:"note"`
}

// agentOne is what an agent needs to know of another.
type agentOne struct {
	Name     string     `json:"name"`
	You      bool       `json:"you,omitempty"`
	Role     string     `json:"role,omitempty"`
	Runtime  string     `json:"runtime,omitempty"`
	Station  string     `json:"station,omitempty"` // of an agent elsewhere
	Presence string     `json:"presence"`
	LastSeen *time.Time `json:"last_seen,omitempty"`
	Unread   int        `json:"unread"`
	Owes     int        `json:"owes"`
	Behind   string     `json:"behind,omitempty"`
	Problem  string     `json:"problem,omitempty"`
	Leaving  int        `json:"leaving,omitempty"` // mail that has not arrived at its station
}

// farShown is up to how many agents of other stations are listed one by one: each
// is a line that a model reads.
const farShown = 40

func (c *call) listAgents() (*reply, error) {
	all, err := c.desk.ViewAgents(c.ctx)
	if err != nil {
		return nil, err
	}
	view := agentsView{Agents: []agentOne{}, Note: "also: human (ask_human), broadcast (everybody)"}
	all, more := fewFar(all)
	if more != "" {
		view.Note += more
	}
	var b strings.Builder
	for _, a := range all {
		v := agentOne{Station: a.Station, Leaving: a.Leaving, Name: a.Name, You: a.AID == c.desk.Author.AID, Role: mail.Neutralise(a.Role, false), Runtime: mail.Neutralise(a.Runtime, false),
			Presence: a.Presence, LastSeen: a.LastSeen, Unread: a.Unread, Owes: a.Owes, Behind: mail.Neutralise(a.Behind, false), Problem: mail.Neutralise(a.Problem, false)}
		view.Agents = append(view.Agents, v)
		b.WriteString(v.line())
	}
	return &reply{text: b.String() + view.Note, data: view}, nil
}

// fewFar leaves out the agents of other stations where there are many, and says
// how many there are where.
func fewFar(all []cli.AgentView) (list []cli.AgentView, more string) {
	at := map[string]int{}
	for _, a := range all {
		if a.Station == "" {
			list = append(list, a)
		} else {
			at[a.Station]++
		}
	}
	if len(all)-len(list) <= farShown {
		return all, ""
	}
	for _, station := range slices.Sorted(maps.Keys(at)) {
		more += fmt.Sprintf("; %d at station %s (NAME@%s)", at[station], station, station)
	}
	return list, more
}

func (v agentOne) line() string {
	var b strings.Builder
	b.WriteString(v.Name)
	if v.You {
		b.WriteString(" (you)")
	}
	words := []string{v.Role, v.Runtime, v.Presence}
	if v.Station != "" { // what it has not read, its own office knows
		words[2] = "at station " + v.Station
	}
	for _, s := range words {
		if s != "" {
			b.WriteString(", " + s)
		}
	}
	switch {
	case v.Station == "":
		fmt.Fprintf(&b, ", unread %d, owes %d answers", v.Unread, v.Owes)
	case v.Leaving > 0:
		fmt.Fprintf(&b, ", %d on the way there, owes %d answers", v.Leaving, v.Owes)
	default:
		fmt.Fprintf(&b, ", owes %d answers", v.Owes)
	}
	if v.Behind != "" {
		b.WriteString("; behind: " + v.Behind)
	}
	if v.Problem != "" {
		b.WriteString("; mailbox unreadable: " + v.Problem)
	}
	return b.String() + "\n"
}

// lifeView is a message's life as `post trace --json` prints it, and the lines
// that say where it stands.
type lifeView struct {
	cli.TraceView
	Now []string `json:"now"`
}

func (c *call) traceMail() (*reply, error) {
	ref := c.text("id")
	if c.err != nil {
		return nil, c.err
	}
	id, err := c.desk.FindAny(ref)
	if err != nil {
		return nil, err
	}
	life, err := c.desk.Trace(id)
	if err != nil {
		return nil, err
	}
	v, now := c.desk.ViewLife(life)
	v.Subject = cut(v.Subject)
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s from %s to %s\n", v.ID, v.Act, mail.Neutralise(v.From, false), mail.Neutralise(v.To, false))
	for _, s := range v.Steps {
		fmt.Fprintf(&b, "%s  %s  %s  %s\n", s.At.UTC().Format(time.DateTime), s.Event, mail.Neutralise(s.Agent, false), mail.Neutralise(cli.StepText(s), false))
	}
	for i := range now {
		now[i] = mail.Neutralise(now[i], false)
		b.WriteString("now: " + now[i] + "\n")
	}
	return &reply{text: b.String(), data: lifeView{v, now}}, nil
}
