#!/usr/bin/env bash
# Makes the files of a release: release.sh FOLDER [TAG]
#   FOLDER  receives the Debian package of this machine, and the SPIR-V with which vkrope builds without glslc
#   TAG     v and the version, as v0.2.0; another version than rope.h's is refused
# It installs what is missing, and builds in build-release (VKROPE_BUILD names another folder).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${VKROPE_BUILD:-$root/build-release}
export VKROPE_BUILD=$build

refuse() {
    echo "release: $1" >&2
    exit 2
}

case ${1:-} in
--help | -h) sed -n '2,/^set -/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0 ;;
'' | -*) refuse "the first argument names the folder of the release, not '${1:-}'; --help says more" ;;
esac
if [ $# -gt 2 ]; then refuse "there are $# arguments; a folder and a tag are taken"; fi
version=$(awk '/^#define ROPE_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' "$root/host/include/vkrope/rope.h")
if [ "${2:-v$version}" != "v$version" ]; then refuse "the tag is '$2', and rope.h is of version $version: v$version would be right"; fi
grep -q "\"version\": \"$version\"" "$root/host/package/vcpkg/vcpkg.json" || refuse "host/package/vcpkg/vcpkg.json is not of version $version"
mkdir -p "$1"
folder=$(cd "$1" && pwd)

"$root/host/package/install_packages.sh" test
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DVKROPE_BUILD_TESTS=OFF
cmake --build "$build" --parallel "$(getconf _NPROCESSORS_ONLN)"
cmake --build "$build" --target vkrope-spirv
(cd "$build" && cpack -G DEB -B "$build/packages")
cp "$build"/packages/*.deb "$build/vkrope-$version-spirv.tar.gz" "$folder"
(cd "$folder" && sha256sum -- *"$version"* >SHA256SUMS && ls -l)
