#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A small GPTModel of megatron-core: tensor parallel on two ranks against one rank, healthy and
# with the reduction of linear_proj left out in layer 2.

. "$(dirname "$0")/common.sh"
need_environment megatron --no-deps megatron-core==0.16.1

hunt "megatron healthy" megatron.case
ACCEPTANCE_UNREDUCED=2 hunt "megatron unreduced" megatron.case
