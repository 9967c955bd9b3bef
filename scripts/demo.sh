#!/usr/bin/env bash
# Two agents and a person in a temporary office: a request is agreed to and
# done, and an approval is asked and answered. Everything that is printed is
# what the real program says. Exits 1 if anything is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."

room=$(mktemp -d "${TMPDIR:-/tmp}/postroom-demo.XXXXXX")
trap 'rm -rf "$room"' EXIT
post=$PWD/bin/post
[ -x "$post" ] || { echo "bin/post is missing: run make build" >&2; exit 1; }

# The programs see this and nothing else: not your office, not your session.
in_room() {
  env -i PATH="$PWD/bin:/usr/bin:/bin" HOME="$room" XDG_STATE_HOME="$room/state" LANG=C.UTF-8 NO_COLOR=1 \
    POSTROOM_OFFICE="$room/office" "$@"
}

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m'; fi

title() { printf '%s== %s%s\n\n' "$bold" "$*" "$plain"; }

die() { printf '\nthe demo went wrong: %s\n' "$*" >&2; exit 1; }

# says WHO COMMAND… shows a command and what it says, and keeps that in $said.
says() {
  local who=$1 code=0
  shift
  printf '%s$ post %s\n' "$who" "$(shown "$@")" | short
  said=$(in_room "$post" "$@" --as "$who" 2>&1) || code=$?
  printf '%s\n\n' "$said" | short
  [ "$code" = 0 ] || die "post $1 exits $code"
}

# shown is a command as somebody would type it.
shown() {
  local a out=''
  for a; do
    case $a in *[!A-Za-z0-9_,./:=-]*) a="\"$a\"" ;; esac
    out+=" $a"
  done
  printf '%s' "${out# }"
}

# short shows the temporary directory as ~, in lines of at most 78 characters.
short() { sed "s|$room|~|g" | fold -s -w 78; }

# id is the end of the first message id in what was said, which is enough of it;
# expect TEXT wants it to be there.
id() { grep -oE '[0-9]{4}(-[0-9]{2}){2}T[0-9-]+Z-[0-9]{4}-[0-9a-f]{8}' <<<"$said" | head -n 1 | grep -oE '[0-9a-f]{8}$'; }
expect() { grep -qE -- "$1" <<<"$said" || die "expected \"$1\""; }

title 'An office, and two agents who work in different places'
in_room "$post" init "$room/office" --person-check off -q | short
for a in 'researcher finds things out' 'coder writes the code'; do
  name=${a%% *}
  mkdir -p "$room/$name"
  in_room "$post" join "$name" --role "${a#* }" --workspace "$room/$name" -q >/dev/null
done
in_room "$post" agents | short
echo

title 'A request: it obliges the coder to answer'
says researcher send coder --act request -s 'Review the retry loop' -m 'It gives up after one try. See net.go, line 40.'
expect '^delivered .* to coder'
request=$(id)
says researcher owed
expect coder

title 'The coder reads it, agrees, and does it'
says coder read next
expect 'gives up after one try'
says coder reply "$request" --act agree -m 'Will do.'
says coder reply "$request" --act 'done' -m 'It now tries five times, and waits longer each time.'
expect '^delivered .* to researcher'
says coder 'done' "$request"

title 'The researcher was waiting for it'
says researcher wait --from coder --timeout 5s
expect 'agree from coder'
says researcher read last
expect 'tries five times'
says researcher owed
! grep -q coder <<<"$said" || die 'the debt is still open'

title 'Something that only a person may decide'
says coder send human --act query -s 'May I delete the old branch?' -m 'Nobody has used it for a year.'
expect '^asked a person: ap-'
approval=$(grep -oE 'ap-[0-9a-f]+' <<<"$said" | head -n 1)
says human approvals
expect "$approval"
says human answer "$approval" -m 'Yes, but keep a tag.'
says coder read next
expect 'keep a tag'

title 'What a person reads: the transcript of the coder'"'"'s inbox'
short <"$room/office/transcripts/_inbox_coder.md"
[ "$(grep -c '^## \[' "$room/office/transcripts/_inbox_coder.md")" = 2 ] || die 'the transcript should have two sections'

title 'The life of one message'
says researcher trace "$request"
for event in stored delivered read 'done'; do expect "$event"; done

title 'Try next'
cat <<'TRY'
make install          put post and postd on your PATH
post init             make your own office
post join NAME        in the directory where an agent works
post primer           what an agent is told about all this
post help             everything else
TRY
