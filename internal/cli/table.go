package cli

// Commands is the table of everything `post` can do, in the order in which
// help shows it.
func Commands() []Command {
	return []Command{
		setupCommand(),
		initCommand(),
		joinCommand(),
		installCommand(),
		uninstallCommand(),

		sendCommand(),
		replyCommand(),
		inboxCommand(),
		readCommand(),
		doneCommand(),
		waitCommand(),
		watchCommand(),
		threadCommand(),
		traceCommand(),
		owedCommand(),
		approvalsCommand(),
		answerCommand(),
		routeCommand(),
		renotifyCommand(),

		agentsCommand(),
		agentCommand(),
		channelCommand(),
		upCommand(),
		startCommand(),
		stopCommand(),
		restartCommand(),
		logsCommand(),
		officeCommand(),
		whereCommand(),
		verifyCommand(),
		doctorCommand(),

		hookCommand(),
		primerCommand(),
		helpCommand(),
		completionCommand(),
		manCommand(),
		versionCommand(),
		becomeCommand(),

		postdCommand("serve", "route mail always, and wake who gets it", "[--listen ADDR] [--log text|json]"),
		postdCommand("mcp", "mail as MCP tools for an agent's session", "[--http ADDR --token-file FILE]"),
		postdCommand("audit", "keep the office's history in git", "now | status"),
		postdCommand("service", "run postd as a service of this user", "install | uninstall | print"),
	}
}
