//go:build !linux && !darwin

package identity

// System returns nil: here only the environment tells an agent's session.
func System() ProcessTree { return nil }
