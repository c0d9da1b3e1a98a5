#!/usr/bin/env bash
# The Python package as a stranger gets it: a source archive, a wheel, and the wheel in a fresh virtual environment, where no source
# tree is in sight. The wheel is built without glslc: of the tree, whose objects ccache has, or in a whole run of the archive.
set -euo pipefail
complain() { echo "$1" && exit 1; }
skip() {
    [ -z "${VKROPE_TEST_SKIPPED:-}" ] || echo "Package.IsAWheel: $1" >>"$VKROPE_TEST_SKIPPED"
    echo "skipped: $1" && exit 77
}
pip=("$BUILD/venv/bin/python" -m pip --quiet --disable-pip-version-check)
"$BUILD/venv/bin/python" -c 'import scikit_build_core' 2>/dev/null ||
    skip "no virtual environment with scikit-build-core (tests/run.sh gets it from PyPI)"
build=(--no-deps --no-build-isolation --config-settings=build-dir="$STAGE/wheel-build")
[ -z "$LAUNCHER" ] || export CMAKE_C_COMPILER_LAUNCHER=$LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER=$LAUNCHER
export CC CXX PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH

stage=$STAGE/wheel
rm -rf "$stage" "$STAGE/wheel-build" && mkdir -p "$stage/tree"
(cd "$SOURCE" && tar -c CMakeLists.txt pyproject.toml LICENSE README.md CHANGELOG.md host shaders bench) | tar -x -C "$stage/tree"
[ "${VKROPE_TEST_WHOLE:-0}" != 0 ] || cp -r "$SPIRV" "$stage/tree/spirv" # a whole run has the archive make it
(cd "$stage/tree" && "$BUILD/venv/bin/python" -c 'import sys; sys.path.insert(0, "host/package"); import python_backend
python_backend.build_sdist(sys.argv[1])' "$stage") >"$stage/log" 2>&1 || { tail -n 50 "$stage/log" && exit 1; }
tar -xzf "$stage/vkrope-$VERSION.tar.gz" -C "$stage" || complain "there is no archive of version $VERSION"
[ -f "$stage/vkrope-$VERSION/spirv/rotate_wide.inc" ] || complain "the archive has no SPIR-V: $(ls "$stage/vkrope-$VERSION")"
from=$SOURCE
if [ "${VKROPE_TEST_WHOLE:-0}" = 0 ]; then
    build+=(--config-settings=cmake.define.VKROPE_SPIRV="$SPIRV")
else
    from=$stage/vkrope-$VERSION
fi
begin=$SECONDS
"${pip[@]}" wheel "${build[@]}" --config-settings=cmake.define.VKROPE_GLSLC=OFF -w "$stage" "$from" >"$stage/log" 2>&1 ||
    { tail -n 50 "$stage/log" && exit 1; }
wheel=$(echo "$stage"/vkrope-"$VERSION"-py3-none-*.whl)
[ -f "$wheel" ] || complain "there is no wheel py3-none-PLATFORM: $(ls "$stage")"
echo "$((SECONDS - begin)) s, $(wc -c <"$wheel") bytes: ${wheel##*/}"

"$PYTHON" -m venv --without-pip "$stage/fresh"
"${pip[@]}" --python "$stage/fresh/bin/python" install --prefer-binary "$wheel" >"$stage/log" 2>&1 ||
    skip "PyPI did not give NumPy: $(tail -n 1 "$stage/log")"
cp -r "$SOURCE/tests/python" "$SOURCE/tests/program" "$SOURCE/docs" "$stage"
mkdir "$stage/data" && cp -r "$SOURCE/tests/data/caches" "$stage/data"
rm -rf "$stage/tree" "$stage/vkrope-$VERSION"
mkdir "$stage/tests" && mv "$stage/python" "$stage/program" "$stage/data" "$stage/tests"
cd "$stage/tests"
for test in manual bad_calls; do
    "$stage/fresh/bin/python" "python/${test}_test.py" "$PROGRAM" "" >"$stage/log" 2>&1 || { cat "$stage/log" && exit 1; }
done
"$stage/fresh/bin/python" -c 'import sys, vkrope; assert vkrope.__file__.startswith(sys.prefix), vkrope.__file__'
