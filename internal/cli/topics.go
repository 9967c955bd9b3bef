package cli

// A page is a topic of help that belongs to no command.
type page struct{ name, summary, text string }

func topics() []page {
	return []page{
		{"protocol", "how a message travels, and what may be relied on", protocolText},
		{"acts", "request, query, propose, inform, agree, refuse, done", actsText},
		{"exit-codes", "what an exit code says", exitText},
		{"office", "which office a command works in", officeText},
		{"identity", "which agent a command acts as, and what only a person may do", identityText},
		{"wake", "how an agent is told of its mail", wakeText},
		{"hand-written", "sending by writing a file", handText},
	}
}

func topic(name string) (string, bool) {
	for _, t := range topics() {
		if t.name == name || name == "hand-written mail" && t.name == "hand-written" {
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

const protocolText = `How a message travels

  stored → delivered → notified → surfaced → read → done
  (or bounced, escalated, expired)

stored     It stands durably in the sender's outbox.
delivered  It stands durably in the recipient's inbox.
notified   The recipient's runtime was told that there is mail.
surfaced   A pointer to it was written into the agent's context.
read       The agent has its text.
done       The agent says that it is handled.

"post trace ID" shows which of these happened, when, and by what evidence.

Whoever runs a command also routes mail for a moment; no daemon is needed.
"post serve" routes always. Only one process routes at a time: it holds the
lease. A sender that cannot get it says "stored, not yet delivered", and the
next command of anybody delivers the message. Do not send it again: an
identical message within ten minutes is answered with the first one's state.

A message that cannot be delivered comes back as a bounce from postroom, with
the reason and what to do. Nothing is ever dropped in silence.
`

const actsText = `Acts

  request   do something                     obliges an answer
  query     tell me something                obliges an answer
  propose   shall we do this?                obliges an answer
  inform    here is something to know        ends the matter
  agree     I will                           leaves "done" owed
  refuse    I will not, because              settles what was owed
  done      it is finished                   settles; ends the matter

A message without an act is inform; so is "post reply" unless told otherwise.
A reply to inform or done is refused: there is nothing left to answer. Who has
something new to say writes a new message.

What is owed has a due time: the message's deadline, else the office's. When it
passes, the debtor is reminded once, then the sender and a person are told.
"post owed" lists what is open. cc never obliges; a broadcast obliges everyone
who got it.
`

const exitText = `Exit codes

  0  done; for send: in the recipient's inbox, and noticed or not to be noticed
  1  nothing was stored, or the disk refused; doctor and verify: found something
  2  wrong usage
  3  delivered, not yet surfaced: nobody could be woken. Do not resend
  4  stored, not yet delivered: it moves when somebody may route. Do not resend
  5  refused by a rule, an unknown name, or not allowed; nothing was stored
  6  nothing came: wait ran into its timeout, or nothing is unread (read next)

Several recipients: the worst of theirs, in the order 1, 5, 4, 3, 0.

With --json an error is one object on standard output:
  {"v":1,"error":{"kind":…,"op":…,"addr":…,"id":…,"message":…,"hint":…,
   "exit":…}}
The kind is stable; the message is for people.
`

const officeText = `Which office

An office is one directory that holds a team's mail. A command works in the
first of these that says something:

  1. --office DIR
  2. $POSTROOM_OFFICE
  3. what this session is bound to (by joining, or by the runtime's hook)
  4. what this workspace, or a directory above it, is bound to (by joining)
  5. .postroom/ in this directory or one above, if you have made it (post init)
  6. your default office (made by "post init" without DIR)

"post where" prints the answer and the reason. A relative path is made absolute
at once, and symlinks are resolved once.

An office knows its machine and its directory: a copy refuses to be written
until "post office fork" makes it an office of its own, or "post office move
--here" makes it the one. An office that was moved leaves a note behind that
names the new place. Keep it on a local disk, not in a synchronised folder.
`

const identityText = `Which agent

A session is one agent. What the session is bound to comes first; --as NAME and
$POSTROOM_AGENT choose only where nothing is bound, and are refused where they
disagree. Without any of them it is the one agent whose workspace is this
directory, or the nearest above. None, or several: the command is refused and
lists the candidates. It never guesses.

A session is known by $POSTROOM_SESSION, else by its runtime's own session id,
else by the controlling terminal. One-shot runs (claude -p, codex exec) speak
for no agent by standing in its workspace: they must be told with --as.

What only a person may do

init, agent, channel, office, answer, install, uninstall, up, start, stop,
restart, logs, doctor --fix, any join but a session's own, and --as human are
refused inside an agent's session. It is known by the variables that its runtime
sets, and by the processes above (on Linux and macOS; elsewhere by the variables
alone). An office made with --person-check env or off checks less; "post where"
shows it.

This holds off an agent that was talked into using the tool. It does not hold
off a hostile program that runs as you: such a program can write your files.
`

const handText = `Sending by writing a file

Any program can send without this tool: write a JSON file into its own outbox,
under any name that ends in .json. Write it under a name that starts with a dot
first and rename it, or write it in one go.

  {"to": "coder", "act": "request", "subject": "Review", "body": "…markdown…"}

to is an agent (elsewhere: NAME@STATION), "human", "broadcast" or a channel.
Optional: act (else inform), subject, body, cc (a list), in_reply_to,
conversation, needs_human, deadline, and options (a list) of a question to a
person.
Everything else is stamped when the file is taken: who you are is the owner of
the outbox, whatever the file says.

Whoever routes next takes the file, gives it an id and moves it to
outbox/.sent/. A file that does not parse may be half written: after five
seconds it goes to outbox/.failed/, with the reason beside it in NAME.why.json
and in your inbox. Mend it there, and it is taken after all.
`
