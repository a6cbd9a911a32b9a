#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fills a folder with the checkpoints of docs/conversion.md, in the Python of the jobs.
exec "$NANHUNT_PYTHON" "$(dirname "$0")/write_conversion_example.py" "$@"
