#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A launch script that knows nothing of nanhunt: fits y = 3 x to four samples by gradient descent
# and prints the loss. With --watch=on it ends with status 3 when the loss leaves its curve.
steps=8 microbatches=1 reduction=mean watch=on
for word in "$@"; do
  case $word in
    --steps=*) steps=${word#*=} ;;
    --microbatches=*) microbatches=${word#*=} ;;
    --reduction=*) reduction=${word#*=} ;;
    --watch=*) watch=${word#*=} ;;
    *) echo "train.sh: unknown option $word" >&2; exit 2 ;;
  esac
done

exec awk -v steps="$steps" -v microbatches="$microbatches" -v reduction="$reduction" \
  -v watch="$watch" -v shuffle="${SHUFFLE:-off}" '
BEGIN {
  split(shuffle == "on" ? "0.5 1 1 0.5" : "1 1 0.5 0.5", sample, " ")
  each = 4 / microbatches
  for (step = 0; step < steps; ++step) {
    loss = gradient = 0
    for (i = 1; i <= 4; ++i) {
      error = weight * sample[i] - 3 * sample[i]
      loss += error * error / 4
      gradient += 2 * error * sample[i] / each  # mean over the microbatch, sum over microbatches
    }
    if (reduction == "mean") gradient /= microbatches
    printf "step %d loss %g\n", step, loss
    if (step == 0) first = loss
    if (watch == "on" && loss > 2 * first) {
      print "loss left its curve" > "/dev/stderr"
      exit 3
    }
    weight -= 0.5 * gradient
  }
}'
