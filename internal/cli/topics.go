package cli

// A topic is a page of help that belongs to no command.
type page struct{ name, summary, text string }

func topics() []page {
	return nil
}

func topic(name string) (string, bool) {
	for _, t := range topics() {
		if t.name == name {
			return t.text, true
		}
	}
	return "", false
}

// topicCommands shows the topics as commands, for lists and suggestions.
func topicCommands() []Command {
	var list []Command
	for _, t := range topics() {
		list = append(list, Command{Name: t.name, Summary: t.summary})
	}
	return list
}
