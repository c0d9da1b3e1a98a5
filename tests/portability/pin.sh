#!/usr/bin/env bash
# pin.sh: writes packages.lock anew, with the versions that Debian has today. A set is a line of that file,
# "set NAME SUITE ARCHITECTURE PACKAGE...", and takes all that its packages depend on. After it the figures of compilers
# change: bench/compilers.py --pin writes those.
set -euo pipefail

case ${1:-} in
--help | -h) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" && exit 0 ;;
?*) echo "pin: there is no '$1'; pin.sh takes nothing but --help" >&2 && exit 2 ;;
esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mirror=${VKROPE_DEBIAN:-http://deb.debian.org/debian}
has() { command -v "$1" >/dev/null 2>&1; }
say() { echo "pin: $*" >&2; }
. "$root/tests/portability/packages.sh"

# apt writes a line for each package: 'URL' FILE BYTES SHA256:SUM
pin_set() { # FOLDER SUITE ARCHITECTURE PACKAGE...
    private_apt "$1" "$2" "$3" || { say "no lists of $2 from $mirror: $1/log" && return 1; }
    APT_CONFIG=$1/apt.conf apt-get -y --no-install-recommends -o Acquire::ForceHash=SHA256 \
        --print-uris install "${@:4}" |
        sed -n "s|^'$mirror/\(pool/[^']*\)' .* SHA256:\([0-9a-f]\{64\}\)\$|\1 \2|p" | sed 's/%2b/+/g' | sort
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
{
    echo "# Debian's packages of tests/portability.sh: their paths on a mirror, and their SHA256. tests/portability/pin.sh writes it."
    echo "snapshot $(date -u +%Y%m%dT%H%M%SZ)"
    while read -r _ name suite architecture packages; do
        say "$name"
        echo "set $name $suite $architecture $packages"
        # shellcheck disable=SC2086 # the packages are words
        pin_set "$folder/$name" "$suite" "$architecture" $packages
    done < <(grep '^set ' "$lock")
} >"$folder/lock"
cat "$folder/lock" >"$lock"
say "$(grep -c ^pool/ "$lock") packages"
