#!/usr/bin/env bash
# An office as it looks after a week of work, in a temporary directory, with its
# page: twelve agents, 3,000 messages, approvals, debts, a bounce, and one thing
# for post doctor. The same seed tells the same stories: demo-office.sh [SEED].
# It stays until Ctrl-C, and leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in bin/post bin/postd; do
  [ -x "$program" ] || { echo "$program is missing: run make build" >&2; exit 1; }
done
room=$(mktemp -d "${TMPDIR:-/tmp}/postroom-office.XXXXXX")
serve=''
leave() {
  if [ -n "$serve" ]; then kill "$serve" 2>/dev/null && wait "$serve" 2>/dev/null || true; fi
  rm -rf "$room"
}
trap leave EXIT
trap 'exit 0' INT TERM

# The programs see this and nothing else: not your office, not your session.
in_room() {
  env -i PATH="$PWD/bin:/usr/bin:/bin" HOME="$room" XDG_STATE_HOME="$room/state" LANG=C.UTF-8 NO_COLOR=1 \
    POSTROOM_OFFICE="$room/web-shop/.postroom" "$@"
}

mkdir "$room/web-shop"
go run ./e2e/demooffice/fill -seed "${1:-1}" -version "$(in_room bin/post version | awk '{print $2; exit}')" "$room/web-shop/.postroom"
in_room bin/post verify --as human | head -n 1

in_room bin/postd serve >"$room/serving" 2>"$room/log" &
serve=$!
until [ -s "$room/serving" ]; do
  kill -0 "$serve" 2>/dev/null || { cat "$room/log" >&2; exit 1; }
  sleep 0.1
done
link=$(in_room bin/post ui --print --as human | head -n 1)
opener=$(command -v xdg-open || command -v open || true)
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || [ "$(uname)" = Darwin ]; then
  if [ -n "$opener" ]; then "$opener" "$link" >/dev/null 2>&1 || true; fi
fi
cat <<TRY

The page, by a link that works once:
  $link
Another link, or the same office by hand, in another terminal:
  export HOME=$room XDG_STATE_HOME=$room/state POSTROOM_OFFICE=$room/web-shop/.postroom
  $PWD/bin/post ui --print --as human
  $PWD/bin/post send frontend --as lead -m 'Have you seen the new page?'
Ctrl-C ends it and removes everything.
TRY
wait "$serve"
