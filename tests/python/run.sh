#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs unittest modules in the Python environment of the jobs; skipped (77) where there is none.
if [ -z "$NANHUNT_PYTHON" ] || [ ! -x "$NANHUNT_PYTHON" ]; then
  echo "NANHUNT_PYTHON names no Python with torch; ./dev test sets one up"
  exit 77
fi
cd "$(dirname "$0")" && exec "$NANHUNT_PYTHON" -m unittest -v "$@"
