package mcpserver

import (
	"cmp"
	"errors"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
)

// elsewhere is the key of a session of which nothing is known. It is never
// bound, and keeps this process's own session out of it.
const elsewhere = "mcp:elsewhere"

// sessionKeys are the keys under which the calling session may be bound, the
// nearest first: what the client says of itself in _meta. A thread may belong to
// a session that was bound as a whole.
func sessionKeys(meta mcp.Meta, client string) []string {
	runtime := cmp.Or(runtimeOf(client), "codex") // the one that is known to say so
	var keys []string
	for _, name := range []string{"threadId", "sessionId"} {
		id, _ := meta[name].(string)
		if id == "" || len(id) > 256 || strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }) {
			continue
		}
		if key := identity.SessionKeyOf(runtime, id); len(keys) == 0 || keys[0] != key {
			keys = append(keys, key)
		}
	}
	return keys
}

// runtimeOf says which runtime a client is, by the name that it gives itself.
func runtimeOf(client string) string {
	for _, r := range identity.Runtimes() {
		if strings.Contains(strings.ToLower(client), r) {
			return r
		}
	}
	return ""
}

// clientInfo is where a client names itself in each call, since 2026-07-28.
const clientInfo = "io.modelcontextprotocol/clientInfo"

// clientName is what the client calls itself.
func clientName(meta mcp.Meta, ss *mcp.ServerSession) string {
	if info, ok := meta[clientInfo].(map[string]any); ok {
		name, _ := info["name"].(string)
		return name
	}
	if p := ss.InitializeParams(); p != nil && p.ClientInfo != nil {
		return p.ClientInfo.Name
	}
	return ""
}

// desk finds out who makes a call (design §11) and opens the mailbox: by what
// the client says of its session, by what surrounds the process if only one
// client can be there, or by --as. They may not disagree.
func (s *Server) desk(op string, meta mcp.Meta, ss *mcp.ServerSession) (*cli.Desk, error) {
	if s.env.As == mail.NameHuman {
		return nil, &mail.Error{Op: op, Kind: mail.KindPerson, Addr: "--as human", Err: errors.New("an MCP client is an agent's session"),
			Hint: "let a person start the server with the name of an agent"}
	}
	client := clientName(meta, ss)
	key, bound, err := s.session(op, sessionKeys(meta, client))
	if err != nil {
		return nil, err
	}
	named := s.env.As != "" || s.env.Getenv("POSTROOM_AGENT") != ""
	// A daemon's surroundings are those of whoever started it.
	ownPlace := s.alone && key == "" && runtimeOf(client) != "codex"
	if !ownPlace && !bound && !named {
		return nil, s.unknown(op, key)
	}
	if key == "" && !ownPlace {
		key = elsewhere
	}
	d, err := s.env.Call(op, key).Desk()
	if err != nil {
		return nil, advise(err)
	}
	return d, nil
}

// session chooses among the keys of a call: the first that is bound, else the
// first. Two that are bound to different agents are nobody.
func (s *Server) session(op string, keys []string) (key string, bound bool, err error) {
	var found config.Binding
	for _, k := range keys {
		b, ok := s.env.User().Session(k)
		_, guest := identity.Guest(b)
		switch {
		case ok && guest && !bound:
			return k, false, nil // it is nobody until it joins, whosever thread it is
		case !ok || b.Agent == "":
		case !bound:
			key, bound, found = k, true, b
		case b.Office != found.Office || b.Agent != found.Agent:
			return "", false, &mail.Error{Op: op, Kind: mail.KindIdentity, Addr: b.Name,
				Err:  errors.New("the client names two sessions, which are bound to " + found.Name + " and to " + b.Name),
				Hint: `run "post join NAME" in the session that is meant`}
		}
	}
	if key == "" && len(keys) > 0 {
		key = keys[0]
	}
	return key, bound, nil
}

// nextStep is what somebody does whose session is bound to nobody.
const nextStep = `run "post join NAME" in this session, or let a person start the server with "post mcp --as NAME"`

func (s *Server) unknown(op, key string) error {
	why := "the client does not say which session calls"
	if key != "" {
		why = "the session " + mail.Neutralise(key, false) + " is bound to no agent"
	}
	hint := nextStep
	if names, err := s.env.Call(op, cmp.Or(key, elsewhere)).Agents(); err == nil && len(names) > 0 {
		hint += " (" + strings.Join(names[:min(len(names), 8)], ", ") + ")"
	}
	return &mail.Error{Op: op, Kind: mail.KindIdentity, Err: errors.New(why), Hint: hint}
}

// advise replaces what only a command line can do by what a client's session
// can.
func advise(err error) error {
	var e *mail.Error
	if k := mail.KindOf(err); !errors.As(err, &e) || k != mail.KindIdentity && k != mail.KindAmbiguous {
		return err
	}
	again := *e
	_, names, ok := strings.Cut(e.Hint, "(")
	if again.Hint = nextStep; ok {
		again.Hint += " (" + names
	}
	if strings.Contains(e.Hint, "leave out") || strings.Contains(e.Hint, "did you mean") {
		again.Hint = e.Hint
	}
	return &again
}
