#!/usr/bin/env bash
# vkrope.py of the moved installation finds the library that was installed beside it.
set -euo pipefail
folder=$(dirname "$(find "$STAGE/moved" -name vkrope.py)")
cd "$STAGE"
"$PYTHON" -c 'import numpy' 2>/dev/null || { echo "skipped: this Python has no numpy" && exit 77; }
found=$(PYTHONPATH=$folder PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -c '
import vkrope
encoding = vkrope.read({"model_type": "llama", "head_dim": 8})
print(vkrope.__file__, vkrope.Device("cpu").table(encoding, range(2))[0].shape)')
[ "$found" = "$folder/vkrope.py (2, 4)" ] || { echo "$found" && exit 1; }
