#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torchtitan's Llama 3 debug model on two ranks against one rank: tensor parallel and FSDP2, tensor
# parallel with the reduction of attention.wo left out in layer 3, and tensor parallel with the
# clipping that torchtitan takes by default, whose foreach form in torch 2.11 leaves gradients that
# are still to be summed over the ranks as they are (partial_clip.py shows it by itself).

. "$(dirname "$0")/common.sh"
need_environment torchtitan torchtitan==0.2.2

hunt "torchtitan tp healthy" torchtitan.case
ACCEPTANCE_UNREDUCED=3 hunt "torchtitan tp unreduced" torchtitan.case
hunt "torchtitan fsdp healthy" torchtitan.case --set parallel.tp=1 --set parallel.dp=2
hunt "torchtitan tp foreach" torchtitan.case --set fusion.clip=foreach
"$NANHUNT_PYTHON" -m torch.distributed.run --standalone --nproc-per-node=2 "$here/partial_clip.py"
