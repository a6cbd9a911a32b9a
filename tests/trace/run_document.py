# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that a document shows and compares what they print with what it shows.

Usage: run_document.py [--differs] DOCUMENT PROGRAM [ARGUMENT...]

PROGRAM is called with a new folder and the arguments, and fills the folder. Each ```sh and
```python block of the document is then run in it, in order; a ```text block right after it is the
whole of what it must print. Python runs with Debian's interpreter, which has python3-h5py. With
--differs the test is that the document is *not* true of what PROGRAM wrote: the comparison can
fail.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

INTERPRETERS = {"sh": ["/bin/sh", "-e", "-c"], "python": ["/usr/bin/python3", "-c"]}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def run(language, code, folder):
    done = subprocess.run(INTERPRETERS[language] + [code], cwd=folder, timeout=60, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode} of\n{code}\n{done.stdout}")
    return done.stdout


def lines(text):
    """Without trailing blanks and the blank lines at the end."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def compare(document, folder):
    """Number of commands with their output, and the differences found."""
    printed = None
    compared = 0
    differences = []
    for language, body in BLOCK.findall(pathlib.Path(document).read_text()):
        if language in INTERPRETERS:
            printed = (body, run(language, body, folder))
        elif language == "text" and printed is not None:
            code, output = printed
            printed = None
            compared += 1
            if lines(output) != lines(body):
                differences.append(
                    f"This command\n{code}\nshould print\n{body}\nbut prints\n{output}")
    return compared, differences


def main(arguments):
    must_differ = arguments[0] == "--differs"
    document, program, *rest = arguments[must_differ:]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder] + rest, check=True)
        compared, differences = compare(document, folder)
    print(*differences, sep="\n")
    print(f"{document}: {compared} commands with output, {len(differences)} print something else")
    if compared == 0 or bool(differences) != must_differ:
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
