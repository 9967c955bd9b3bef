#!/usr/bin/env bash
# The official MCP conformance suite against `post mcp --http`. Needs bin/post,
# bin/postd, node and npm; node 22 and the suite are installed once
# (mcp-programs.sh). Results go to out/mcp-conformance.
set -euo pipefail
VERSION=0.1.16
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
bin=${BIN:-$root/bin}
out=${OUT:-$root/out/mcp-conformance}
. "$here/mcp-programs.sh"
node22
pinned mcp-conformance @modelcontextprotocol/conformance "$VERSION" dist/index.js
suite=$found
tmp=$(mktemp -d)
pids=()
finish() {
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  rm -rf "$tmp"
}
trap finish EXIT

mkdir "$tmp/home" "$tmp/w"
post() { env -i HOME="$tmp/home" PATH="$bin:/usr/bin:/bin" POSTROOM_OFFICE="$tmp/office" "$bin/post" "$@"; }
post init "$tmp/office" --person-check off -q >/dev/null
post join tester --workspace "$tmp/w" -q >/dev/null
mkfifo "$tmp/url" "$tmp/proxy"
env -i HOME="$tmp/home" PATH="$bin:/usr/bin:/bin" POSTROOM_OFFICE="$tmp/office" \
  "$bin/postd" mcp --as tester --http 127.0.0.1:0 --token-file "$tmp/token" >"$tmp/url" & pids+=($!)
read -r url <"$tmp/url"
"$node" "$here/mcp-bearer.mjs" "$url" "$(cat "$tmp/token")" >"$tmp/proxy" & pids+=($!)
read -r proxy <"$tmp/proxy"

rm -rf "$out" && mkdir -p "$out"
code=0
"$node" "$suite" server --url "$proxy" --suite all --output-dir "$out" \
  --expected-failures "$here/mcp-conformance.yml" >"$out/log.txt" 2>&1 || code=$?
"$node" "$here/mcp-table.mjs" "$out" "$here/mcp-conformance.yml" | tee "$out/table.md"
[ $code = 0 ] || { tail -n 30 "$out/log.txt"; echo "the suite says $code: see $out/log.txt"; }
exit $code
