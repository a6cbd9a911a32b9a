#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# write_example.sh FOLDER [FIRST_BAD]: the checkpoints' check, the flaky job and the repository that
# docs/bisect.md looks into. The commit FIRST_BAD (default 43) is the first bad one.
set -e
first_bad=${2:-43}
cd "$1"

cat > check.sh <<'END'
# A checkpoint is sound up to step 1700; those of 1400 and 1500 are lost.
test "$1" = 1400 && exit 125
test "$1" = 1500 && exit 125
test "$1" -le 1700
END
cat > lost.sh <<'END'
test "$1" = 1400 && exit 125
test "$1" = 1500 && exit 125
test "$1" -lt 1500
END
# Fails in every second run from node 5 on.
cat > job.sh <<'END'
test "${1#node-}" -lt 5 || test $((NANHUNT_RUN % 2)) = 1
END
for i in 0 1 2 3 4 5 6 7; do echo "node-$i"; done > nodes

git init -q repo
cd repo
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
echo "test \$(cat number) -lt $first_bad" > train.sh
i=0
while [ $i -lt 64 ]; do
  echo $i > number
  git -c user.name=a -c user.email=a@example.org add number train.sh
  git -c user.name=a -c user.email=a@example.org commit -q -m "change $i"
  i=$((i + 1))
done
