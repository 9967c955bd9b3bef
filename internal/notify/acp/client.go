package acp

import (
	"context"

	sdk "github.com/coder/acp-go-sdk"
)

// What the child may ask of us: permissions. Files and terminals were not
// offered.

// RequestPermission answers by the policy.
func (t *talk) RequestPermission(_ context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	t.sign()
	d := t.policy.decide(r.ToolCall)
	t.log("permission %s", d.words)
	return sdk.RequestPermissionResponse{Outcome: answer(d.allow, r.Options)}, nil
}

// SessionUpdate is not called: the sieve keeps updates back.
func (t *talk) SessionUpdate(context.Context, sdk.SessionNotification) error { return nil }

// ReadTextFile is not offered.
func (t *talk) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (r sdk.ReadTextFileResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodFsReadTextFile)
}

// WriteTextFile is not offered.
func (t *talk) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (r sdk.WriteTextFileResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodFsWriteTextFile)
}

// CreateTerminal is not offered.
func (t *talk) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (r sdk.CreateTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalCreate)
}

// KillTerminal is not offered.
func (t *talk) KillTerminal(context.Context, sdk.KillTerminalRequest) (r sdk.KillTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalKill)
}

// TerminalOutput is not offered.
func (t *talk) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (r sdk.TerminalOutputResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalOutput)
}

// ReleaseTerminal is not offered.
func (t *talk) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (r sdk.ReleaseTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalRelease)
}

// WaitForTerminalExit is not offered.
func (t *talk) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (r sdk.WaitForTerminalExitResponse, err error) {
	return r, sdk.NewMethodNotFound(sdk.ClientMethodTerminalWaitForExit)
}
