# SPDX-License-Identifier: Apache-2.0
"""Runs a command; tells its wall time and the peak memory of all its processes together."""

import pathlib
import subprocess
import sys
import threading
import time

_INTERVAL_S = 0.5
_SHARE = 0.05  # of a processor that watching may take


def tree(process):
    """The process and all that descend from it."""
    yield process
    for children in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from tree(int(child))


def memory_kib(process):
    """Proportional set size: pages that several processes share are counted once."""
    try:
        text = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0  # it has just ended
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


def watch(process, peak, ended):
    pause = _INTERVAL_S
    while not ended.wait(pause):
        begin = time.thread_time()
        try:
            peak[0] = max(peak[0], sum(map(memory_kib, tree(process))))
        except OSError:
            pass  # a process ended while its children were listed
        pause = max(_INTERVAL_S, (time.thread_time() - begin) / _SHARE)


def main():
    begin, peak, ended = time.monotonic(), [0], threading.Event()
    child = subprocess.Popen(sys.argv[1:])
    watcher = threading.Thread(target=watch, args=(child.pid, peak, ended))
    watcher.start()
    status = child.wait()
    ended.set()
    watcher.join()
    print(f"wall {time.monotonic() - begin:.0f} s, peak memory {peak[0] / 2**20:.1f} GiB")
    sys.exit(status if status >= 0 else 128 - status)


main()
