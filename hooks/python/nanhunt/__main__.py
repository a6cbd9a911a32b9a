# SPDX-License-Identifier: Apache-2.0
"""python -m nanhunt [--microbatches N] [--sample-order ORDER] [--loss KIND] train.py ARGS: runs
the script with the hooks in place.
"""

import argparse
import os
import runpy
import sys

from . import repeats


def main():
    parser = argparse.ArgumentParser(prog="python -m nanhunt", description=__doc__)
    parser.add_argument("--microbatches", type=int, help="forward passes a step")
    parser.add_argument("--sample-order", choices=["interleaved", "by_rank", "by_microbatch"],
                        help="how samples of the global batch lie on data-parallel ranks")
    parser.add_argument("--loss", choices=["mean", "sum"],
                        help="what the losses of data-parallel ranks make the step's by")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    repeats.run_each(options.script)
    import nanhunt
    nanhunt.install(options.microbatches, options.sample_order, options.loss)
    sys.argv = [options.script, *options.arguments]
    if options.module:
        sys.path[0] = os.getcwd()
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.script))
        runpy.run_path(options.script, run_name="__main__")


main()
