#!/usr/bin/env bash
# Makes the files of a release: release.sh FOLDER [TAG]
#   FOLDER   receives the amalgamation (its files, and an archive of them with Meson's wrap), the Debian package of this machine, the
#            SPIR-V with which vkrope builds without glslc, the Python wheel of this machine and the source archive
#   TAG      v and the version, as v0.2.0: CHANGELOG.md, rope.h, pyproject.toml and vcpkg.json must have the same
#   --check  in FOLDER's place looks at these names and makes nothing
# It installs what is missing, and builds in build-release (VKROPE_BUILD names another folder).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${VKROPE_BUILD:-$root/build-release}
export VKROPE_BUILD=$build

refuse() {
    echo "release: $1" >&2
    exit 2
}

# ---- The version's names

version=$(awk '/^#define ROPE_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' "$root/host/include/vkrope/rope.h")
same() { # WHERE VERSION
    [ "$2" = "$version" ] || refuse "$1 is of version '$2', and rope.h of $version: one of them is wrong"
}

check_names() { # [TAG]
    local heading
    heading=$(grep -m 1 '^## ' "$root/CHANGELOG.md")
    same CHANGELOG.md "$(cut -d ' ' -f 2 <<<"$heading")"
    same host/package/vcpkg/vcpkg.json "$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$root/host/package/vcpkg/vcpkg.json")"
    if ! grep -qxF 'input = "host/include/vkrope/rope.h"' "$root/pyproject.toml"; then
        same pyproject.toml "$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/pyproject.toml")"
    fi
    [ $# -gt 0 ] || return 0
    [ "$1" = "v$version" ] || refuse "the tag is '$1', and rope.h is of version $version: v$version would be right"
    [[ $heading != *unreleased* ]] || refuse "CHANGELOG.md says '${heading#\#\# }': the day of the release would be right"
}

case ${1:-} in
--help | -h) sed -n '2,/^set -/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0 ;;
--check) check_names "${@:2}" && exit 0 ;;
'' | -*) refuse "the first argument names the folder of the release, not '${1:-}'; --help says more" ;;
esac
if [ $# -gt 2 ]; then refuse "there are $# arguments; a folder and a tag are taken"; fi
check_names "${@:2}"
mkdir -p "$1"
folder=$(cd "$1" && pwd)

# ---- Its files

"$root/host/package/install_packages.sh" test
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DVKROPE_BUILD_TESTS=OFF
cmake --build "$build" --parallel "$(getconf _NPROCESSORS_ONLN)"
cmake --build "$build" --target vkrope-spirv vkrope-amalgamation
(cd "$build" && cpack -G DEB -B "$build/packages")
cp "$build"/packages/*.deb "$build/vkrope-$version-spirv.tar.gz" "$build"/amalgamation/vkrope* "$folder"

# Meson unpacks the archive below subprojects/, where the wrap is.
archive=vkrope-$version-amalgamation.tar.gz
tar -C "$build" --transform "s,^amalgamation,vkrope-$version," --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$(git -C "$root" log -1 --format=%ct)" -c amalgamation | gzip -n >"$folder/$archive"
{
    printf '[wrap-file]\ndirectory = vkrope-%s\nsource_filename = %s\n' "$version" "$archive"
    [ -z "${GITHUB_REPOSITORY:-}" ] || echo "source_url = $GITHUB_SERVER_URL/$GITHUB_REPOSITORY/releases/download/v$version/$archive"
    printf 'source_hash = %s\n\n[provide]\ndependency_names = vkrope, vkrope-device\n' "$(sha256sum "$folder/$archive" | cut -d ' ' -f 1)"
} >"$folder/vkrope.wrap"

# The wheel is built from the source archive, so the archive is known to build.
python3 -m pip install --quiet --target "$build/python" 'build[virtualenv]'
PYTHONPATH=$build/python python3 -m build --outdir "$folder" "$root"
for file in "$folder/vkrope-$version.tar.gz" "$folder/vkrope-$version"-*.whl; do
    [ -f "$file" ] || refuse "there is no $file: pyproject.toml is of another version than $version"
done
(cd "$folder" && sha256sum -- *vkrope* >SHA256SUMS && ls -l)
