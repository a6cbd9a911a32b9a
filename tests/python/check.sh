#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Hunts Python jobs with drawn faults and without: check.sh SEED CASES
if [ -z "$NANHUNT_PYTHON" ] || [ ! -x "$NANHUNT_PYTHON" ]; then
  echo "NANHUNT_PYTHON names no Python with torch; ./dev test sets one up"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$NANHUNT_BUILD_DIR/cli/nanhunt" cases jobs --check --seed "$1" --only "$2" --out "$work/check"
