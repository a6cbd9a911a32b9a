#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_loss.sh LOG: status 0 when the last loss is below the first, 1 when it is not, 125 without.
exec awk '
$3 == "loss" { if (!lines++) first = $4; last = $4 }
END {
  if (!lines) { print "no loss in the log"; exit 125 }
  print "loss went from " first " to " last
  exit !(last < first)
}' "$1"
