#!/usr/bin/env bash
# The package of the moved installation finds the library that was installed with it.
set -euo pipefail
folder=$(dirname "$(find "$STAGE/moved" -path '*/vkrope/__init__.py')")
cd "$STAGE"
"$PYTHON" -c 'import numpy' 2>/dev/null || { echo "skipped: this Python has no numpy" && exit 77; }
found=$(PYTHONPATH=$(dirname "$folder") PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -c '
import vkrope
encoding = vkrope.read({"model_type": "llama", "head_dim": 8})
print(vkrope.__file__, vkrope.__version__, vkrope.Device("cpu").table(encoding, range(2))[0].shape)')
[ "$found" = "$folder/__init__.py $VERSION (2, 4)" ] || { echo "$found" && exit 1; }
