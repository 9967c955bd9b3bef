#!/usr/bin/env bash
# Runs the commands of a README word for word, in a fresh clone and a home of
# its own: readme-check.sh [FILE]. What counts as a command: the lines of every
# fenced block that is marked sh, bash or console; in a console block only those
# that begin with "$ ", and what follows such a line is what it must print, where
# "…" stands for anything. A block that follows the line <!-- no-check --> is
# left out. Blocks run one after the other in one shell, as a newcomer's would.
# Of the coding CLIs there are stand-ins: post setup and install look for them on
# PATH, and what the real ones do is shown by e2e/runtimes. Where the system
# allows it the shell has a process tree of its own, as a newcomer's terminal has.
set -euo pipefail
cd "$(dirname "$0")/.."

readme=$(realpath "${1:-README.md}")
home=$(mktemp -d "${TMPDIR:-/tmp}/postroom-readme.XXXXXX")
trap 'chmod -R u+w "$home" 2>/dev/null; rm -rf "$home"' EXIT
git clone -q . "$home/postroom"
cp "$readme" "$home/README.md"
mkdir -p "$home/.local/bin"
for cli in claude codex; do
  printf '#!/bin/sh\necho 9.9.9\n' >"$home/.local/bin/$cli"
  chmod +x "$home/.local/bin/$cli"
done

own=''
if unshare -rpf --mount-proc true 2>/dev/null; then own='unshare -rpf --mount-proc --kill-child'; fi

python3 - "$home" "$own" <<'PY'
import os, re, subprocess, sys

home = sys.argv[1]
lines = open(os.path.join(home, "README.md"), encoding="utf-8").read().split("\n")

def unfinished(command):
    """Whether a command goes on in the next line: a backslash, a here-document."""
    check = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True)
    return command.endswith("\\") or check.returncode != 0 or "here-document" in check.stderr

# steps are (line number, command, expected output or None).
steps, block, skip = [], None, False
for number, line in enumerate(lines, 1):
    fence = re.match(r"^```\s*(\w*)", line)
    if fence and block is None:
        block, wanted = fence.group(1), not skip
        skip = False
    elif fence:
        block = None
    elif block is None:
        skip = line.strip() == "<!-- no-check -->" or skip and not line.strip()
    elif not wanted:
        continue
    elif block in ("sh", "bash"):
        if line.strip() and not line.startswith("#") or steps and unfinished(steps[-1][1]):
            if steps and unfinished(steps[-1][1]):
                at, text, _ = steps.pop()
                steps.append((at, text + "\n" + line, None))
            else:
                steps.append((number, line, None))
    elif block == "console":
        if line.startswith("$ "):
            steps.append((number, line[2:], ""))
        elif steps:
            at, text, out = steps.pop()
            steps.append((at, text, (out or "") + line + "\n"))

if not steps:
    sys.exit("there is no command in it")

env = {"HOME": home, "XDG_STATE_HOME": home + "/state", "LANG": "C.UTF-8", "NO_COLOR": "1", "TERM": "dumb",
       "PATH": home + "/.local/bin:" + os.environ["PATH"]}
for name in ("GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"):  # what is downloaded already
    value = os.environ.get(name) or subprocess.run(["go", "env", name], capture_output=True, text=True).stdout.strip()
    if value:
        env[name] = value

# One shell for all, so that cd and variables last; each step ends in a mark.
shell = subprocess.Popen(sys.argv[2].split() + ["bash"], cwd=home, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, start_new_session=True)

def run(command):
    shell.stdin.write("{ %s\n} </dev/null; echo \"<<<$?>>>\"\n" % command)
    shell.stdin.flush()
    out = ""
    for line in shell.stdout:
        mark = re.search(r"<<<(\d+)>>>$", line.rstrip("\n"))
        if mark:
            return out + line[: mark.start()], int(mark.group(1))
        out += line
    return out, -1

def fits(wanted, got):
    parts = [re.escape(p) for p in wanted.strip().split("…")]
    return re.fullmatch(".*?".join(parts), got.strip(), re.S) is not None

bad = 0
for number, command, wanted in steps:
    # The clone is made already, of this very tree.
    out, code = run(re.sub(r"^git clone\b[^&]*(&&)?", "", command) or ":")
    ok = code == 0 and (not wanted or fits(wanted, out))
    print("%s line %d: %s" % ("ok " if ok else "BAD", number, command))
    if not ok:
        bad += 1
        print("exit %d\n%s" % (code, out))
        if wanted:
            print("wanted:\n" + wanted)
shell.stdin.close()
shell.wait()
sys.exit(1 if bad else 0)
PY
