#!/usr/bin/env bash
# The official MCP inspector's command line lists and calls every tool of
# `post mcp`, and reads its resources. Needs bin/post, bin/postd, node and npm;
# node 22 and the inspector are installed once (mcp-programs.sh).
set -euo pipefail
VERSION=2.12.0
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$root/bin}
. "$root/scripts/mcp-programs.sh"
node22
pinned mcp-inspector @modelcontextprotocol/inspector "$VERSION" package.json
inspector=$cache/mcp-inspector/node_modules/.bin/mcp-inspector
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/home" "$tmp/ann" "$tmp/bob"
clean() { env -i HOME="$tmp/home" PATH="$(dirname "$node"):$bin:/usr/bin:/bin" TMPDIR="$tmp" "$@"; }
clean "$bin/post" init "$tmp/office" --person-check off -q >/dev/null
for a in ann bob; do clean "$bin/post" join $a --office "$tmp/office" --workspace "$tmp/$a" -q >/dev/null; done

# inspect AGENT WANTED ARGUMENT…: the answer must hold WANTED.
inspect() {
  local as=$1 want=$2 out
  shift 2
  out=$(clean "$inspector" --cli "$bin/post" mcp --as "$as" --office "$tmp/office" "$@" 2>"$tmp/err") ||
    { echo "FAILED: $*"; cat "$tmp/err"; echo "$out"; exit 1; }
  grep -qF -- "$want" <<<"$out" || { echo "FAILED: $* lacks $want"; echo "$out"; exit 1; }
  echo "ok  $as: $*"
  last=$(grep -oE '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]+Z-[0-9]{4}-[0-9a-f]{8}' <<<"$out" | head -n 1 || true)
}
call() { local as=$1 want=$2 tool=$3; shift 3; inspect "$as" "$want" --method tools/call --tool-name "$tool" "$@"; }

inspect ann '"wait_for_mail"' --method tools/list --strict
call ann '"you": true' list_agents
call ann '"state": "delivered"' send_mail --tool-arg to=bob act=request 'body=the word is kumquat'
id=$last
call bob '"act": "request"' list_mail
call bob kumquat read_mail
call bob '"state": "delivered"' reply_mail --tool-arg "id=$id" act=done 'body=understood'
call bob '"state": "done"' mark_done --tool-arg "ids=[\"$id\"]"
call ann '"came": true' wait_for_mail --tool-arg "reply_to=$id"
call ann 'nothing is owed' trace_mail --tool-arg "id=$id"
call ann '"state": "asked"' ask_human --tool-arg 'question=May I?'
inspect ann 'postroom://inbox' --method resources/list
inspect ann 'postroom://thread/{conversation}' --method resources/templates/list
inspect ann 'done from bob' --method resources/read --uri postroom://inbox
