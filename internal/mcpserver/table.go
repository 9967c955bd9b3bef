package mcpserver

// The structured results, as short as can be (docs/mcp.md tells all fields):
// no member is required, since a refusal holds "error" alone.
const (
	textType = `{"type":"string"}`
	sentOnes = `{"type":"array","items":{"type":"object","properties":{"id":` + textType + `,"to":` + textType +
		`,"state":{"enum":["delivered","not-surfaced","asked","stored","failed"]},"reason":` + textType + `,"approval":` + textType + `,"conversation":` + textType + `}}}`
	listOnes = `{"type":"array","items":{"type":"object","properties":{"id":` + textType + `,"from":` + textType + `,"act":` + textType +
		`,"subject":` + textType + `,"state":` + textType + `,"obliges":{"type":"boolean"}}}}`
	listOf   = `{"type":"array","items":{"type":"object"}}`
	answered = `,"note":` + textType + `,"error":{"type":"object"}}}`
)

// tools is the table of everything that a client can do.
func tools() []tool {
	actArg := argument{name: "act", kind: kindText, one: acts(), about: "what the message does; inform if not given"}
	key := argument{name: "key", kind: kindText, about: "send at most once under this key"}
	deadline := argument{name: "deadline", kind: kindText, about: "when an answer is due: 2h, or a time"}
	sent := `{"type":"object","properties":{"messages":` + sentOnes + answered
	return []tool{
		{name: "send_mail", run: (*call).sendMail, answer: sent,
			about: "Send a message. request, query and propose oblige an answer. The result says what is known: delivered, stored or refused.",
			args: []argument{
				{name: "to", kind: kindText, required: true, about: "agents or channels, with commas; or broadcast"},
				{name: "body", kind: kindText, required: true},
				{name: "subject", kind: kindText}, actArg,
				{name: "cc", kind: kindText}, {name: "conversation", kind: kindText},
				deadline, key,
				{name: "again", kind: kindYesNo, about: "send although the same was sent just now"},
			}},
		{name: "reply_mail", run: (*call).replyMail, answer: sent,
			about: "Answer a message, to its sender, in its conversation. done, refuse and inform settle what you owe; agree promises done.",
			args: []argument{
				{name: "id", kind: kindText, required: true, about: "of the message; its end will do"},
				{name: "body", kind: kindText, required: true},
				actArg, {name: "subject", kind: kindText}, deadline, key,
			}},
		{name: "list_mail", run: (*call).listMail, reads: true,
			answer: `{"type":"object","properties":{"messages":` + listOnes + `,"more":{"type":"integer"}` + answered,
			about:  "List mail that is not done, unread first.",
			args: []argument{
				{name: "all", kind: kindYesNo, about: "what is done too"},
				{name: "limit", kind: kindNumber},
			}},
		{name: "read_mail", run: (*call).readMail,
			answer: `{"type":"object","properties":{"id":{"type":"string"},"from":{"type":"string"},"act":{"type":"string"},"obliges":{"type":"boolean"},"text":{"type":"string"},"part":{"type":"integer"},"parts":{"type":"integer"}` + answered,
			about:  "Read a message: the oldest unread if no id is given. A long one comes in parts, and counts as read after the last.",
			args: []argument{
				{name: "id", kind: kindText, about: "or next, last"},
				{name: "part", kind: kindNumber},
			}},
		{name: "mark_done", run: (*call).markDone, repeats: true,
			answer: `{"type":"object","properties":{"messages":` + listOf + answered,
			about:  "Put handled messages away. This answers nothing.",
			args:   []argument{{name: "ids", kind: kindList, required: true, about: "or all-read"}}},
		{name: "wait_for_mail", run: (*call).waitForMail, reads: true,
			answer: `{"type":"object","properties":{"came":{"type":"boolean"},"message":{"type":"object"}` + answered,
			about:  "Wait for unread mail, at most some seconds. Call it again if nothing came.",
			args: []argument{
				{name: "reply_to", kind: kindText, about: "id of your message that is to be answered"},
				{name: "conversation", kind: kindText},
				{name: "from", kind: kindText},
				{name: "seconds", kind: kindNumber, about: "at most 50"},
			}},
		{name: "list_agents", run: (*call).listAgents, reads: true,
			answer: `{"type":"object","properties":{"agents":` + listOf + answered,
			about:  "List who is there, who you are, and whom you can write to."},
		{name: "ask_human", run: (*call).askHuman, answer: sent,
			about: "Put a question before a person. The answer comes as mail from human.",
			args: []argument{
				{name: "question", kind: kindText, required: true},
				{name: "options", kind: kindList, about: "short answers to choose from"},
				{name: "subject", kind: kindText}, deadline, key,
			}},
		{name: "trace_mail", run: (*call).traceMail, reads: true,
			answer: `{"type":"object","properties":{"steps":` + listOf + `,"delivered":{"type":"array","items":` + textType + `},"missing":{"type":"array","items":` + textType + `},"now":{"type":"array","items":` + textType + `}` + answered,
			about:  "Show what became of a message, and who owes what.",
			args:   []argument{{name: "id", kind: kindText, required: true}}},
	}
}
