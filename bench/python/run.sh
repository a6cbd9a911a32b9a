#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the Python hooks and `compare` cost beside what else one could take: h5py, torch.save,
# msProbe.
#
#   bench/python/run.sh [BUILD]     default: build/release
#
# The first run makes an environment with h5py and msProbe (700 MB) in ~/.cache/nanhunt, over that
# of the Python jobs: NANHUNT_PYTHON, default the one that `./dev test` makes. Needs h5diff.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../../build/release}" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nanhunt
pins=$here/../../cmake/dependencies.txt
if [ -z "${NANHUNT_PYTHON:-}" ]; then
  # As in ./dev: named after the versions in it.
  key=$(awk '$1 == "python" { print $2, $3 }' "$pins" | sha256sum | cut -c1-12)
  NANHUNT_PYTHON=$cache/python-$key/bin/python
fi
if [ ! -x "$NANHUNT_PYTHON" ]; then
  echo "no Python with torch: $NANHUNT_PYTHON; ./dev test makes one" >&2
  exit 4
fi

rivals=$cache/bench-$(sha256sum "$here/requirements.txt" | cut -c1-12)
if [ ! -x "$rivals/bin/python" ]; then
  part=$rivals.part.$$
  trap 'rm -rf "$part"' EXIT
  "$NANHUNT_PYTHON" -m venv "$part"
  site='import sysconfig; print(sysconfig.get_path("purelib"))'
  "$NANHUNT_PYTHON" -c "$site" > "$("$part/bin/python" -c "$site")/torch.pth"
  "$part/bin/python" -m pip install --quiet -r "$here/requirements.txt"
  # Scripts name their interpreter by its path: that of the final folder.
  sed -i "s|$part|$rivals|g" "$part"/bin/msprobe "$part"/bin/pip* "$part"/pyvenv.cfg
  mv -T "$part" "$rivals"
  trap - EXIT
fi

"$rivals/bin/python" "$here/steps.py" --library "$build/hooks/torch_ops/libnanhunt_torch.so"
echo
"$rivals/bin/python" "$here/compare.py" --build "$build" --mix
