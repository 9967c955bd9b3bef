package install

// serverName is how the MCP server is called in every runtime's settings.
const serverName = "postroom"

// server is the registration of the MCP server.
type server struct {
	path []string // of the object in which servers are registered
	post string
	// value is the whole registration.
	value obj
	// command finds the program in a registration; ok is false if it is none of
	// ours.
	command func(d *jsonDoc, n *node) (program *node, ok bool)
	wish    bool
}

// plainCommand is {"command":"…/post","args":["mcp"…]}.
func plainCommand(d *jsonDoc, n *node) (*node, bool) {
	program, args := n.get("command"), n.get("args")
	if program == nil || !isPost(d.text(program)) || args == nil || len(args.items) == 0 || d.text(args.items[0]) != "mcp" {
		return nil, false
	}
	return program, true
}

// listCommand is {"command":["…/post","mcp"…]}.
func listCommand(d *jsonDoc, n *node) (*node, bool) {
	list := n.get("command")
	if list == nil || len(list.items) < 2 || !isPost(d.text(list.items[0])) || d.text(list.items[1]) != "mcp" {
		return nil, false
	}
	return list.items[0], true
}

func (s server) full() []string { return append(append([]string{}, s.path...), serverName) }

func (s server) add(d *jsonDoc) ([]Change, error) {
	if !s.wish {
		return nil, nil
	}
	n := d.at(s.full()...)
	if n == nil {
		in, err := d.container('{', s.path...)
		if err != nil {
			return nil, err
		}
		return []Change{{"add", "the MCP server " + serverName}}, d.insert(in, serverName, s.value)
	}
	program, ok := s.command(d, n)
	switch {
	case !ok:
		return nil, d.conflict(n, "another MCP server is called "+serverName+" already")
	case d.text(program) == s.post:
		return nil, nil
	}
	w := jsonWriter{}
	w.quoted(s.post)
	return []Change{{"update", "the MCP server's program"}}, d.splice(program.start, program.end, w.b.String())
}

func (s server) remove(d *jsonDoc, made []string) ([]Change, error) {
	n := d.at(s.full()...)
	if n == nil {
		return nil, nil
	}
	if _, ok := s.command(d, n); !ok {
		return nil, nil
	}
	return []Change{{"remove", "the MCP server " + serverName}}, d.drop(made, s.full()...)
}

func (s server) look(d *jsonDoc) Look {
	n := d.at(s.full()...)
	if n != nil {
		if program, ok := s.command(d, n); ok {
			return Look{Ours: 1, Posts: []string{d.text(program)}}
		}
		return Look{Lacks: []Lack{{What: "another MCP server is called " + serverName}}}
	}
	if s.wish {
		return Look{Lacks: []Lack{{What: "the MCP server is not registered", Choice: true}}}
	}
	return Look{}
}
