#!/usr/bin/env bash
# Runs a test of the Python package, from the build folder: run.sh TEST PROGRAM FOLDER. The Python is that of the folder venv, which
# host/package/install_packages.sh fills from PyPI, or else PYTHON, which may lack some packages.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$PYTHON
[ ! -x venv/bin/python ] || python=venv/bin/python
exec "$python" "$here/$1_test.py" "${@:2}"
