package cli

// section is commands under one heading of the help.
type section struct {
	heading string
	made    []func() Command
}

// Commands is the table of everything `post` can do, in the order in which
// help shows it.
func Commands() []Command {
	table := make([]Command, 0, 48) // made one by one: every command starts with this
	for _, s := range sections() {
		for _, made := range s.made {
			c := made()
			c.Group = s.heading
			table = append(table, c)
		}
	}
	return table
}

func sections() [8]section {
	return [...]section{
		{"Set up", []func() Command{
			setupCommand, initCommand, joinCommand, installCommand, uninstallCommand}},
		{"Mail", []func() Command{
			sendCommand, replyCommand, inboxCommand, readCommand, doneCommand, waitCommand, watchCommand,
			threadCommand, traceCommand, owedCommand, remindCommand, waiveCommand}},
		{"Decide, as a person", []func() Command{
			approvalsCommand, answerCommand, personCommand}},
		{"Agents", []func() Command{
			agentsCommand, agentCommand, channelCommand, upCommand, startCommand, stopCommand, restartCommand, logsCommand}},
		{"The office", []func() Command{
			whereCommand, officeCommand, routeCommand, renotifyCommand, verifyCommand, doctorCommand}},
		{"Learn", []func() Command{
			primerCommand, helpCommand, completionCommand, versionCommand}},
		{"", []func() Command{hookCommand, manCommand, becomeCommand}},
		{"With postd installed", []func() Command{
			uiCommand, serveCommand, mcpCommand, searchCommand, topCommand, hubCommand, linkCommand, auditCommand, serviceCommand}},
	}
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
