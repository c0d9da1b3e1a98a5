#!/usr/bin/env bash
# The manual page: without a warning, with every command of the program.
set -euo pipefail
page=$BUILD/vkrope.1
commands=$("$BUILD/vkrope" --help | sed -n '/^Subcommands:/,$ s/^  \([a-z-]*\) .*/\1/p')
[ -n "$commands" ]
diff <(echo "$commands") <(sed -n '/^\.SH COMMANDS/,/^\.SH OPTIONS/ s/^\.B \(.*\)/\1/p' "$page" | tr -d '\\') ||
    { echo "the program's commands (<) are not the page's (>)" && exit 1; }
command -v groff >/dev/null || { echo "skipped: no groff" && exit 77; }
warnings=$(groff -man -Tascii -ww "$page" 2>&1 >/dev/null)
[ -z "$warnings" ] || { echo "$warnings" && exit 1; }
