# SPDX-License-Identifier: Apache-2.0
# Sourced by the acceptance scripts: environments, and hunts with their cost.
#
#   NANHUNT_PYTHON=FILE  Python with torch in it (default: the one that ./dev made for Python jobs)
#   NANHUNT_BUILD=DIR    build folder (default: build/release)
#   NANHUNT_OUT=DIR      where runs and traces go (default: out/acceptance)
# shellcheck shell=bash

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${NANHUNT_BUILD:-$root/build/release}" && pwd)
out=${NANHUNT_OUT:-$root/out/acceptance}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nanhunt
unset NANHUNT_OUT  # nanhunt reads it too, but each hunt has a folder of its own

die() { printf 'acceptance: %s\n' "$*" >&2; exit 4; }

base_python() {
  local found
  found=${NANHUNT_PYTHON:-$(ls -td "$cache"/python-????????????/bin/python 2>/dev/null | head -1)}
  [ -x "$found" ] || die "no Python with torch: say NANHUNT_PYTHON, or ./dev test makes one"
  echo "$found"
}

# need_environment NAME ARGS...: an environment of its own on top of the jobs', so that torch is
# not fetched again. ARGS are those of pip install.
need_environment() {
  local name=$1 base folder site
  shift
  base=$(base_python)
  folder=$cache/acceptance-$name
  if [ "$(cat "$folder/packages" 2>/dev/null)" != "$*" ]; then
    echo "fetching $* into $folder"
    rm -rf "$folder"
    "$base" -m venv "$folder"
    site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    "$base" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$site/base.pth"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    echo "$*" > "$folder/packages"
  fi
  export NANHUNT_PYTHON=$folder/bin/python
}

# hunt TITLE CASE ARGS...: one hunt from nothing, what it says, and what it cost.
hunt() {
  local title=$1 case=$2 folder=$out/${1// /-} status=0
  shift 2
  rm -rf "$folder"
  echo
  echo "== $title"
  "$NANHUNT_PYTHON" "$here/measured.py" "$build/cli/nanhunt" run "$here/$case" --out "$folder" \
    --build "$build" "$@" || status=$?
  echo "exit status $status; disk $(du -sh "$folder" | cut -f1)"
}
