#!/usr/bin/env bash
# Installs the build under test and moves what was installed, which then must not know where it was.
set -euo pipefail
rm -rf "$STAGE/first" "$STAGE/moved"
"$CMAKE" --install "$BUILD" --prefix "$STAGE/first" >"$STAGE/install.log"
mv "$STAGE/first" "$STAGE/moved"
