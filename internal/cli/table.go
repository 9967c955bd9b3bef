package cli

import "slices"

// Commands is the table of everything `post` can do, in the order in which
// help shows it.
func Commands() []Command {
	return slices.Concat(
		group("Set up",
			setupCommand(), initCommand(), joinCommand(), installCommand(), uninstallCommand()),
		group("Mail",
			sendCommand(), replyCommand(), inboxCommand(), readCommand(), doneCommand(), waitCommand(), watchCommand(),
			threadCommand(), traceCommand(), owedCommand(), remindCommand(), waiveCommand()),
		group("Decide, as a person",
			approvalsCommand(), answerCommand()),
		group("Agents",
			agentsCommand(), agentCommand(), channelCommand(), upCommand(), startCommand(), stopCommand(), restartCommand(), logsCommand()),
		group("The office",
			whereCommand(), officeCommand(), routeCommand(), renotifyCommand(), verifyCommand(), doctorCommand()),
		group("Learn",
			primerCommand(), helpCommand(), completionCommand(), versionCommand()),
		[]Command{hookCommand(), manCommand(), becomeCommand()},
		group("With postd installed",
			postdCommand("ui", "open the page: who is there, what moves, what waits for you", "[--print] [--to PATH] [--outside] [--revoke]"),
			postdCommand("serve", "route mail always, and wake who gets it", "[--listen ADDR] [--page ADDR …] [--log text|json]"),
			postdCommand("mcp", "mail as MCP tools for an agent's session", "[--http ADDR --token-file FILE]"),
			postdCommand("search", "find messages by words, names, acts, times and states", "WORDS… [--limit N] [--before ID] [--rank] [--rebuild] | --verify"),
			postdCommand("audit", "keep the office's history in git", "now | status"),
			postdCommand("service", "run postd as a service of this user", "install | uninstall | print")),
	)
}

// group gives commands a heading.
func group(heading string, table ...Command) []Command {
	for i := range table {
		table[i].Group = heading
	}
	return table
}
