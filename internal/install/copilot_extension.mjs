// Postroom for GitHub Copilot CLI: wakes an idle session when mail comes. "post
// install copilot" writes this file, "post uninstall copilot" takes it away.
// Copilot loads extensions only with --experimental; the hooks need no such.
//
// It only carries. Whether the inbox is a reason for a turn, and in what words,
// "post hook copilot" decides (docs/hooks.md). Whatever goes wrong here, the
// session goes on.
import { spawn } from "node:child_process"
import { watch } from "node:fs"
import { readdir } from "node:fs/promises"
import { joinSession } from "@github/copilot-sdk/extension"

const post = "@POST@"
const callMax = 7000 // ms that post may take
const rescan = 5000 // ms between two looks into the inbox; file events are hints
const settle = 120 // ms in which what comes together is one look

const session = await joinSession({})

let asking = false
let woken = false // and no turn seen yet
let dir, watcher, soon
let seen = new Set()

// ask tells post of an event; no answer is an empty one.
const ask = (event) =>
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
      const child = spawn(post, ["hook", "copilot", event], { stdio: ["pipe", "pipe", "ignore"] })
      const late = setTimeout(() => child.kill("SIGKILL"), callMax)
      child.on("error", () => (clearTimeout(late), end()))
      child.on("close", () => (clearTimeout(late), end()))
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => (out += text))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify({ sessionId: session.sessionId, cwd: process.cwd() }))
    } catch {
      end()
    }
  })

const names = async () => {
  const all = dir ? await readdir(dir).catch(() => []) : []
  return all.filter((name) => name.endsWith(".json") && !name.startsWith("."))
}

// watching looks into the inbox from now on, if there is one.
const watching = (next) => {
  if (next === dir) return
  watcher?.close()
  watcher = undefined
  dir = next
  seen = new Set()
  if (!dir) return
  try {
    watcher = watch(dir, () => {
      clearTimeout(soon)
      soon = setTimeout(look, settle)
    })
    watcher.on("error", () => {})
  } catch {
    // the timer looks
  }
}

// wake asks what to watch, and whether what is new is to start a turn. Post knows
// by the hooks whether one runs: what is told here of the time before the
// extension came is in no order.
const wake = async () => {
  if (asking) return
  asking = true
  try {
    for (const name of await names()) seen.add(name)
    const answer = await ask("fileChanged")
    watching(answer.watch?.[0])
    if (!answer.wake) return
    woken = true
    await session.send({ prompt: answer.wake, mode: "enqueue" })
  } catch {
    // the next look asks again
  } finally {
    asking = false
  }
}

const look = async () => {
  if (!dir) return
  const now = await names()
  if (now.length > 0 && (woken || now.some((name) => !seen.has(name)))) await wake()
}

session.on((event) => {
  switch (event.type) {
    case "user.message":
      woken = false
      return
    case "permission.requested":
      return ask("permissionRequest")
    case "session.idle":
      return event.data?.aborted ? ask("interrupt") : wake()
  }
})

setInterval(look, rescan)
wake()
