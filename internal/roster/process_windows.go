package roster

import (
	"context"
	"errors"
	"os/exec"

	"github.com/postroom/postroom/internal/mail"
)

// Become is not done here: agents are started by hand.
func (s *Store) Become(_ context.Context, aid, _ string, _ []string) error {
	return &mail.Error{Op: "start", Kind: mail.KindStore, Addr: aid, Err: errors.ErrUnsupported, Hint: "start the agent in a terminal"}
}

func boot() string { return "" }

func alone(*exec.Cmd) {}

func kept(*exec.Cmd) error { return errors.ErrUnsupported }

func awaitExit(int) {}

func sessionOf(int) []int { return nil }

func terminate([]int) error { return errors.ErrUnsupported }

func kill([]int) error { return errors.ErrUnsupported }
