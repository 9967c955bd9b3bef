package linktest

import (
	"testing"

	"github.com/postroom/postroom/internal/link"
)

type dirNetwork struct{ *Hub }

func (n dirNetwork) Wire(_ *testing.T, station string) link.Wire     { return n.Hub.Wire(station) }
func (n dirNetwork) SetDown(_ *testing.T, station string, down bool) { n.Hub.SetDown(station, down) }
func (n dirNetwork) Revoke(_ *testing.T, station string)             { n.Hub.Revoke(station) }

// TestDirectoryWire: the wire that tests use keeps the contract.
func TestDirectoryWire(t *testing.T) {
	t.Parallel()
	Contract(t, func(t *testing.T) Network { return dirNetwork{NewHub(t.TempDir())} })
}
