#!/bin/sh
# Runs post, which the plugin does not bring: from PATH, else from where it is
# usually installed. A session's PATH may be shorter than a person's.
for post in post "$HOME/.local/bin/post" "$HOME/go/bin/post" /usr/local/bin/post /opt/homebrew/bin/post; do
	if command -v "$post" >/dev/null 2>&1; then
		exec "$post" "$@"
	fi
done
if [ "$1" = hook ]; then
	exit 0 # nobody's prompt is held up because post is missing
fi
echo "post is not installed, or not on PATH: see the README of Postroom" >&2
exit 127
