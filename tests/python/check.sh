#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Hunts Python jobs with drawn faults and without: check.sh SEED CASES [OPTION...]
if [ -z "$NANHUNT_PYTHON" ] || [ ! -x "$NANHUNT_PYTHON" ]; then
  echo "NANHUNT_PYTHON names no Python with torch; ./dev test sets one up"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seed=$1 cases=$2
shift 2
"$NANHUNT_BUILD_DIR/cli/nanhunt" cases jobs --check --seed "$seed" --only "$cases" \
  --out "$work/check" "$@"
