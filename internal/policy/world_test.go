package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// noon is when every test message is created.
var noon = time.Date(2026, 5, 30, 12, 0, 0, 0, time.UTC)

// book is a directory in memory.
type book struct {
	agents   []Agent
	aliases  map[string]string // alias → name
	channels []Channel
}

func (b *book) Agent(name string) (Agent, bool) {
	if n, ok := b.aliases[name]; ok {
		name = n
	}
	return b.find(func(a Agent) bool { return a.Name == name })
}

func (b *book) ByAID(aid string) (Agent, bool) {
	return b.find(func(a Agent) bool { return a.AID == aid })
}

func (b *book) find(ok func(Agent) bool) (Agent, bool) {
	if i := slices.IndexFunc(b.agents, ok); i >= 0 {
		return b.agents[i], true
	}
	return Agent{}, false
}

func (b *book) Channel(name string) (Channel, bool) {
	for _, c := range b.channels {
		if c.Name == name {
			return c, true
		}
	}
	return Channel{}, false
}

func (b *book) Active() []Agent {
	var list []Agent
	for _, a := range b.agents {
		if !a.Archived {
			list = append(list, a)
		}
	}
	sortByName(list)
	return list
}

func (b *book) Namesakes(name string) []Agent {
	var list []Agent
	for _, a := range b.Active() {
		if a.Far() && (a.Name == name+"@"+a.Station || b.aliases[name+"@"+a.Station] == a.Name) {
			list = append(list, a)
		}
	}
	return list
}

func (b *book) Suggest(name string) []string {
	var known []string
	for _, a := range b.agents {
		known = append(known, a.Name)
	}
	for _, c := range b.channels {
		known = append(known, c.Name)
	}
	return mail.Suggest(name, known)
}

// aidOf is the stable id that tests give an agent.
func aidOf(name string) string { return "aid-" + name }

func agent(name string) Agent {
	_, station := mail.SplitStation(name)
	return Agent{Name: name, AID: aidOf(name), Station: station}
}

// newBook registers the names; one that begins with a hyphen is archived, and
// new<old is new with the alias old (and old's aid).
func newBook(list ...string) *book {
	b := &book{aliases: map[string]string{}}
	for _, n := range list {
		n, archived := strings.CutPrefix(n, "-")
		n, old, renamed := strings.Cut(n, "<")
		a := agent(n)
		if renamed {
			a.AID = aidOf(old)
			b.aliases[old] = n
		}
		a.Archived = archived
		b.agents = append(b.agents, a)
	}
	return b
}

func (b *book) channel(name string, members ...string) *book {
	for i, m := range members {
		members[i] = aidOf(m)
	}
	slices.Sort(members)
	b.channels = append(b.channels, Channel{Name: name, Members: members})
	return b
}
