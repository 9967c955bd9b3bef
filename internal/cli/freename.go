package cli

import (
	"errors"
	"slices"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
)

// suggestFree adds a free name to the hint of a name that is taken.
func suggestFree(err error, reg *registry.Registry, name string) error {
	var m *mail.Error
	if errors.As(err, &m) && m.Kind == mail.KindConflict {
		m.Hint = "choose another name, such as " + freeName(reg, name)
	}
	return err
}

// freeName is a name like name that nobody has.
func freeName(reg *registry.Registry, name string) string {
	taken := func(n string) bool {
		_, agent := reg.Entry(n)
		return agent || slices.ContainsFunc(reg.Channels(), func(c registry.Channel) bool { return c.Name == n })
	}
	base := name[:min(len(name), 60)]
	for i := '2'; i <= '9'; i++ {
		if n := base + string(i); !taken(n) {
			return n
		}
	}
	return base + "-" + newAID()[2:5]
}
