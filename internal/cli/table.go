package cli

// Commands is the table of everything `post` can do, in the order in which
// help shows it.
func Commands() []Command {
	return []Command{
		setupCommand(),
		initCommand(),
		joinCommand(),

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
		officeCommand(),
		whereCommand(),
		verifyCommand(),
		doctorCommand(),

		primerCommand(),
		helpCommand(),
		completionCommand(),
		manCommand(),
		versionCommand(),

		postdCommand("serve", "route mail always, and wake who gets it", "[--listen ADDR] [--log text|json]"),
		postdCommand("audit", "keep the office's history in git", "now | status"),
		postdCommand("service", "run postd as a service of this user", "install | uninstall | print"),
	}
}
