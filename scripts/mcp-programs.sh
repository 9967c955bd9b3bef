# Read by mcp-conformance.sh and mcp-inspector.sh: pinned programs from npm, one
# prefix for each, where the scenarios keep the coding CLIs (e2e/README.md). What
# is there already is used again.

NODE_PINNED=22.23.3

cache=${POSTROOM_E2E_CLIS:-${XDG_CACHE_HOME:-$HOME/.cache}/postroom/e2e-clis}

# pinned NAME PACKAGE VERSION FILE installs a package if it is missing, says so,
# and puts the path of its FILE into $found.
pinned() {
  local prefix=$cache/$1 dir=$cache/$1/node_modules/$2 begin=$SECONDS
  found=$dir/$4
  mkdir -p "$cache"
  exec 9>"$cache/.lock"
  flock 9
  if ! grep -qsF "\"version\": \"$3\"" "$dir/package.json"; then
    echo "installing $2@$3 into $prefix" >&2
    npm install --no-audit --no-fund --loglevel error --prefix "$prefix" "$2@$3" >&2 ||
      { echo "$2@$3 cannot be installed: is npm there, and the network?" >&2; exit 1; }
    echo "installed in $((SECONDS - begin))s" >&2
  fi
  exec 9>&-
  [ -e "$found" ] || { echo "$found is missing: remove $prefix and try again" >&2; exit 1; }
}

# node22 puts a node of version 22 or newer into $node: $NODE, the one on PATH, or
# a pinned one. npm itself goes on with the system's.
node22() {
  local major
  node=$(command -v "${NODE:-node}" || true)
  major=$([ -z "$node" ] || "$node" -p 'process.versions.node.split(".")[0]')
  [ "${major:-0}" -lt 22 ] || return 0
  [ -z "${NODE:-}" ] || { echo "$NODE is node ${major:-no}, and 22 is needed" >&2; exit 1; }
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) major=linux-x64 ;;
    Linux-aarch64) major=linux-arm64 ;;
    *) echo 'node 22 or newer is needed, on PATH or as $NODE' >&2; exit 1 ;;
  esac
  pinned node "node-$major" "$NODE_PINNED" bin/node
  node=$found
}
