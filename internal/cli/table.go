package cli

// Table is what a program can do, in the order in which help shows it. A start
// makes the one command that is asked for, and knows the others by name.
type Table []Entry

// Entry is one command of a table: the heading under which help has it, its name,
// and what makes it.
type Entry struct {
	Group, Name string
	Make        func() Command
}

func (e Entry) command() Command {
	c := e.Make()
	c.Group = e.Group
	return c
}

// All makes every command.
func (t Table) All() []Command {
	list := make([]Command, len(t))
	for i, e := range t {
		list[i] = e.command()
	}
	return list
}

func (t Table) find(name string) (Command, bool) {
	for _, e := range t {
		if e.Name == name {
			return e.command(), true
		}
	}
	return Command{}, false
}

// tableOf is the table of a group's commands.
func tableOf(list []Command) Table {
	t := make(Table, len(list))
	for i, c := range list {
		t[i] = Entry{c.Group, c.Name, func() Command { return c }}
	}
	return t
}

// Commands is the table of everything `post` can do.
func Commands() Table { return commands[:] }

var commands = [...]Entry{
	{"Set up", "setup", setupCommand},
	{"Set up", "init", initCommand},
	{"Set up", "join", joinCommand},
	{"Set up", "install", installCommand},
	{"Set up", "uninstall", uninstallCommand},
	{"Mail", "send", sendCommand},
	{"Mail", "reply", replyCommand},
	{"Mail", "inbox", inboxCommand},
	{"Mail", "read", readCommand},
	{"Mail", "done", doneCommand},
	{"Mail", "wait", waitCommand},
	{"Mail", "watch", watchCommand},
	{"Mail", "thread", threadCommand},
	{"Mail", "trace", traceCommand},
	{"Mail", "owed", owedCommand},
	{"Mail", "remind", remindCommand},
	{"Mail", "waive", waiveCommand},
	{"Decide, as a person", "approvals", approvalsCommand},
	{"Decide, as a person", "answer", answerCommand},
	{"Decide, as a person", "person", personCommand},
	{"Agents", "agents", agentsCommand},
	{"Agents", "agent", agentCommand},
	{"Agents", "channel", channelCommand},
	{"Agents", "up", upCommand},
	{"Agents", "start", startCommand},
	{"Agents", "stop", stopCommand},
	{"Agents", "restart", restartCommand},
	{"Agents", "logs", logsCommand},
	{"The office", "where", whereCommand},
	{"The office", "office", officeCommand},
	{"The office", "route", routeCommand},
	{"The office", "renotify", renotifyCommand},
	{"The office", "verify", verifyCommand},
	{"The office", "doctor", doctorCommand},
	{"Learn", "primer", primerCommand},
	{"Learn", "help", helpCommand},
	{"Learn", "completion", completionCommand},
	{"Learn", "version", versionCommand},
	{"", "hook", hookCommand},
	{"", "man", manCommand},
	{"", becomeName, becomeCommand},
	{"With postd installed", "ui", uiCommand},
	{"With postd installed", "serve", serveCommand},
	{"With postd installed", "mcp", mcpCommand},
	{"With postd installed", "search", searchCommand},
	{"With postd installed", "top", topCommand},
	{"With postd installed", "hub", hubCommand},
	{"With postd installed", "link", linkCommand},
	{"With postd installed", "audit", auditCommand},
	{"With postd installed", "service", serviceCommand},
}

func uiCommand() Command {
	return postdCommand("ui", "open the page: who is there, what moves, what waits for you", "[--print] [--to PATH] [--outside] [--revoke]")
}

func serveCommand() Command {
	return postdCommand("serve", "route mail always, and wake who gets it", "[--listen ADDR] [--page ADDR …] [--log text|json]")
}

func mcpCommand() Command {
	return postdCommand("mcp", "mail as MCP tools for an agent's session", "[--http ADDR --token-file FILE]")
}

func searchCommand() Command {
	return postdCommand("search", "find messages by words, names, acts, times and states", "WORDS… [--limit N] [--before ID] [--rank] [--rebuild] | --verify")
}

func topCommand() Command {
	return postdCommand("top", "the floor in a terminal: agents, mail moving, approvals to decide", "[--once]")
}

func hubCommand() Command {
	return postdCommand("hub", "the post office that a team's machines meet at", "[--listen HOST:PORT] [--server-only] | invite | status")
}

func linkCommand() Command {
	return postdCommand("link", "link this office with those on other machines", "join | status | leave | rotate | revoke | trust")
}

func auditCommand() Command {
	return postdCommand("audit", "keep the office's history in git", "now | status")
}

func serviceCommand() Command {
	return postdCommand("service", "run postd as a service of this user", "install | uninstall | print")
}
