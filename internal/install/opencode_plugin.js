// Postroom for OpenCode: mail between agents. "post install opencode" writes
// this file, "post uninstall opencode" takes it away.
//
// It only carries. What is said, and when, "post hook opencode" decides
// (docs/hooks.md), and it says our own words, never those of a message. Whatever
// goes wrong here, the session goes on.
import { spawn } from "node:child_process"
import { watch } from "node:fs"
import { readdir } from "node:fs/promises"

const post = "@POST@"
const callMax = 7000 // ms that a prompt waits for post at most
const rescan = 5000 // ms between two looks into the inbox; file events are hints
const settle = 120 // ms in which what comes together is one look
// A run of one prompt ends with its turn, whatever it is given to go on with.
const oneTurn = process.argv.includes("run")
const promptMax = 20000 // characters of a prompt that post is told

// call asks post once; no answer is an empty one.
const call = (words) =>
  new Promise((done) => {
    let out = ""
    const end = () => {
      try {
        done(JSON.parse(out))
      } catch {
        done({})
      }
    }
    try {
      const child = spawn(post, ["hook", "opencode"], { cwd: words.cwd, stdio: ["pipe", "pipe", "ignore"] })
      const late = setTimeout(() => child.kill("SIGKILL"), callMax)
      child.on("error", () => (clearTimeout(late), end()))
      child.on("close", () => (clearTimeout(late), end()))
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => (out += text))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(words))
    } catch {
      end()
    }
  })

const both = (...texts) => texts.filter(Boolean).join("\n\n")

export const Postroom = async ({ client, directory }) => {
  // Two settings may name this file's twin: one of them is enough in a process.
  const first = Symbol.for("postroom.opencode")
  const self = new URL(import.meta.url).pathname
  if ((globalThis[first] ??= self) !== self) return {}

  const sessions = new Map()

  // find is what is known of a session; parent is "" for one that is nobody's
  // subagent.
  const find = async (id, info) => {
    let s = sessions.get(id)
    if (!s) sessions.set(id, (s = { id, last: Promise.resolve(), seen: new Set() }))
    if (info) s.parent = info.parentID ?? ""
    if (s.parent === undefined) {
      const got = await client.session.get({ path: { id } }).catch(() => undefined)
      s.parent ??= got?.data?.parentID ?? ""
    }
    return s
  }

  // ask tells post of an event, one after the other for each session.
  const ask = (s, event, more) =>
    (s.last = s.last.then(() => call({ event, session: s.id, cwd: directory, ...more })))

  // say starts a turn of a session, or goes on with one.
  const say = (s, text) => client.session.promptAsync({ path: { id: s.id }, body: { parts: [{ type: "text", text }] } })

  const names = async (dir) => {
    const all = await readdir(dir).catch(() => [])
    return all.filter((name) => name.endsWith(".json") && !name.startsWith("."))
  }

  // wake asks whether what is new in the inbox is to start a turn. Post says yes
  // to one of those who ask at the same time.
  const wake = async (s) => {
    if (s.running || s.asking || !s.dir) return
    s.asking = true
    try {
      for (const name of await names(s.dir)) s.seen.add(name)
      const answer = await ask(s, "file.changed", { path: s.dir })
      if (!answer.wake || s.running) return
      s.woken = true
      await say(s, answer.wake)
    } catch {
      // the next look asks again
    } finally {
      s.asking = false
    }
  }

  const look = async (s) => {
    if (s.running || !s.dir) return
    const now = await names(s.dir)
    if (now.length > 0 && (s.woken || now.some((name) => !s.seen.has(name)))) await wake(s)
  }

  const unwatch = (s) => {
    s.watcher?.close()
    clearInterval(s.timer)
    clearTimeout(s.soon)
    s.dir = s.watcher = s.timer = undefined
  }

  // watching looks into the inbox from now on, if there is one.
  const watching = (s, dir) => {
    if (dir !== s.dir) {
      unwatch(s)
      s.dir = dir
      s.seen = new Set()
      if (!dir) return
      try {
        s.watcher = watch(dir, () => {
          clearTimeout(s.soon)
          s.soon = setTimeout(() => look(s), settle)
        })
        s.watcher.on?.("error", () => {})
        s.watcher.unref?.()
      } catch {
        // the timer looks
      }
      s.timer = setInterval(() => look(s), rescan)
      s.timer.unref?.()
    }
    s.seen = new Set() // what came while the turn ended is new
    look(s)
  }

  // idle is the end of a turn: it goes on, or the inbox is watched.
  const idle = async (s) => {
    s.running = false
    if (s.stopped) return // by its person: the next turn is shown the mail
    if (oneTurn) return ask(s, "idle")
    const answer = await ask(s, "turn.stop")
    if (s.running) return
    if (answer.continue) {
      s.running = true
      await say(s, answer.continue).catch(() => (s.running = false))
      return
    }
    watching(s, answer.watch?.[0])
  }

  const end = async (s) => {
    unwatch(s)
    sessions.delete(s.id)
    if (s.started) await ask(s, "session.end")
  }

  // at handles the events of sessions that are nobody's subagent.
  const at = {
    "session.idle": idle,
    "session.deleted": end,
    "session.compacted": (s) => (s.compacted = true),
    "permission.asked": (s) => ask(s, "permission"),
    "question.asked": (s) => ask(s, "permission"),
    "session.error": (s, p) => {
      if (p.error?.name !== "MessageAbortedError") return
      s.stopped = true
      return ask(s, "interrupt")
    },
  }

  return {
    event: async ({ event }) => {
      const p = event.properties ?? {}
      const id = p.sessionID ?? p.info?.id
      if (event.type === "session.created" && id) (await find(id, p.info)).source = "startup"
      if (!id || !at[event.type]) return
      const s = await find(id)
      if (!s.parent && s.started) await at[event.type](s, p)
    },

    "chat.message": async (input, output) => {
      const s = await find(input.sessionID)
      if (s.parent) return
      s.running = true
      s.stopped = s.woken = false
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      let start = {}
      if (!s.started || s.compacted) {
        start = await ask(s, "session.start", { source: s.compacted ? "compact" : (s.source ?? "resume") })
        s.started = true
        s.compacted = false
      }
      const turn = await ask(s, "turn.start", { prompt: texts.join("\n").slice(0, promptMax) })
      const text = both(start.context, turn.context)
      const last = output.parts.at(-1)
      if (!text || !last) return
      // Parts are ordered by id: it comes behind what the person wrote.
      output.parts.push({ id: last.id + "p", sessionID: s.id, messageID: output.message.id, type: "text", synthetic: true, text })
    },

    "tool.execute.after": async (input, output) => {
      const s = await find(input.sessionID)
      const list = Array.isArray(output?.content) // of an MCP server's tool
      if (s.parent || !s.started || (!list && typeof output?.output !== "string")) return
      let again = {}
      if (s.compacted) {
        s.compacted = false
        again = await ask(s, "session.start", { source: "compact" })
      }
      const text = both(again.context, (await ask(s, "turn.middle")).context)
      if (!text) return
      if (list) output.content.push({ type: "text", text })
      else output.output = both(output.output, text)
    },

    // What the session's shell runs is the session, a subagent's too.
    "shell.env": async (input, output) => {
      if (!input.sessionID) return
      let s = await find(input.sessionID)
      for (let n = 0; s.parent && n < 8; n++) s = await find(s.parent)
      output.env.POSTROOM_SESSION = "opencode:" + s.id
    },

    dispose: async () => {
      await Promise.all([...sessions.values()].map(end))
    },
  }
}
