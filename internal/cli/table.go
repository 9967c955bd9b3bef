package cli

// Commands is the table of everything `post` can do, in the order in which
// help shows it.
func Commands() []Command {
	return []Command{
		setupCommand(),
		initCommand(),
		joinCommand(),

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

		postdCommand("serve", "route always, and run the web page and the links", "[FLAG…]"),
		postdCommand("ui", "open the office in a browser", "[FLAG…]"),
		postdCommand("top", "watch the office in a terminal", "[FLAG…]"),
		postdCommand("mcp", "serve the mail tools over MCP on standard input", "[FLAG…]"),
		postdCommand("search", "find messages by words", "WORDS…"),
		postdCommand("hub", "run the exchange that links offices", "[FLAG…]"),
		postdCommand("link", "link this office with others", "COMMAND …"),
		postdCommand("audit", "keep the office's history in git", "COMMAND …"),
		postdCommand("service", "install postd as a service of this user", "COMMAND …"),
	}
}
