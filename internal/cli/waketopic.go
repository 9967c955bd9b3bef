package cli

const wakeText = `How an agent is told of its mail

An agent's session is shown its mail by its hooks: when a turn begins, in the
middle of it, before it ends ("post install" puts them in). A session that sits
at its prompt has to be woken. How is said by --notify of "post join" and "post
agent set", and shown by "post agents":

claude     Claude Code's inbox socket; where there is none, its own hook
           watches the mailbox. The default for agents of Claude Code.
codex      "codex queue": a message that starts a turn. The default for agents
           of Codex. A Codex that was never typed in is not seen yet: type once.
opencode   OpenCode's own plugin watches the mailbox ("post install opencode"),
           and starts a turn. The default for agents of OpenCode.
copilot    an extension of ours in Copilot CLI watches the mailbox, if that was
           started with --experimental. The default for its agents.
qwen:FILE  Qwen Code that was started with --input-file FILE.
tmux[:PANE]
           types one fixed line into its terminal. The last resort, never a
           default: only into an empty prompt of Claude Code, Codex or
           Gemini CLI.
exec:PROGRAM[ --notify :ARG]…
           runs a program, with {agent}, {count}, {ids}, {command}, {office}.
webhook:URL
           posts to a URL (needs postd).
acp[:allow=KIND]
           a headless worker: postd serve keeps one program that speaks the
           Agent Client Protocol, and gives it a prompt. Permissions are refused
           but for the mail verbs, and for kinds of tools that a person allowed:
           read, edit, search, fetch, execute, …
none       nothing: the agent looks for its mail by itself.

One wake is under way at a time, for all the mail that waits. Nothing is sent
while a permission question is open, something is typed at the prompt, or its
person pressed Esc; while a turn runs the hooks show the mail. What could not
be told is tried again by later passes, more and more rarely; "post renotify"
tries at once. "post trace ID" shows each attempt and its evidence.

A wake holds our own words: how many messages, their ids, the command that
shows them. Never a subject, never a body.
`
