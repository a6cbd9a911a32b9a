#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh NANHUNT [OPTION...]: nanhunt cases --check in a work folder that no other run shares. It
# lies below the current folder, which is ctest's of the build: the traces of all cases need space.
work=$(mktemp -d "$PWD/work.XXXXXX") || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP INT TERM
nanhunt=$1
shift
"$nanhunt" cases --check --out "$work" "$@"
