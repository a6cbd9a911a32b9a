#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A picture of a report page, small enough for the documents.

Usage: bench/page_picture.py PAGE.html PICTURE.png HEIGHT

Headless Chromium shows the upper HEIGHT pixels of the page, 1000 wide. Its PNG holds true colours;
it is written again with a palette. Colours that agree in the upper four bits of each channel become
the most frequent one of them; of more than 256 such groups the others become the nearest.
"""
import collections
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

WIDTH = 1000
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def screenshot(page, height):
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder, "page.png")
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                        "--disable-dev-shm-usage", "--hide-scrollbars",
                        f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{height}",
                        f"--screenshot={picture}", pathlib.Path(page).resolve().as_uri()],
                       check=True, stderr=subprocess.DEVNULL)
        return picture.read_bytes()


def chunks(png):
    at = len(SIGNATURE)
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + length]
        at += 12 + length


def predicted(kind, left, up, corner):
    """Paeth and the other filters of the PNG specification (section 9)."""
    if kind == 3:
        return (left + up) // 2
    if kind == 4:
        away = left + up - corner
        return min((abs(away - left), 0, left), (abs(away - up), 1, up),
                   (abs(away - corner), 2, corner))[2]
    return (0, left, up)[kind]


def rows(png):
    """Of 8-bit RGB or RGBA: a list of (red, green, blue) each."""
    parts = list(chunks(png))
    width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    assert depth == 8 and colours in (2, 6) and not interlaced
    channels = 3 if colours == 2 else 4
    size = width * channels
    data = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    above = bytearray(size)
    for start in range(0, height * (size + 1), size + 1):
        row = bytearray(data[start + 1:start + 1 + size])
        if data[start]:
            for i in range(size):
                before = i >= channels
                row[i] = (row[i] + predicted(data[start], row[i - channels] if before else 0,
                                             above[i], above[i - channels] if before else 0)) & 255
        yield list(zip(row[0::channels], row[1::channels], row[2::channels]))
        above = row


def palette(counts):
    """Up to 256 colours, and the place among them of each colour in the picture."""
    groups = collections.defaultdict(collections.Counter)
    for colour, count in counts.items():
        groups[tuple(value >> 4 for value in colour)][colour] = count
    largest = sorted(groups.values(), key=lambda group: -sum(group.values()))[:256]
    kept = [group.most_common(1)[0][0] for group in largest]
    places = {colour: i for i, group in enumerate(largest) for colour in group}
    for colour in counts:
        if colour not in places:
            places[colour] = min(range(len(kept)), key=lambda i: sum(
                (one - other) ** 2 for one, other in zip(kept[i], colour)))
    return kept, places


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(
        ">I", zlib.crc32(kind + body))


def with_palette(png):
    image = list(rows(png))
    counts = collections.Counter(colour for row in image for colour in row)
    kept, places = palette(counts)
    data = b"".join(b"\0" + bytes(places[colour] for colour in row) for row in image)
    header = struct.pack(">IIBBBBB", len(image[0]), len(image), 8, 3, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"PLTE", bytes(sum(kept, ()))) + chunk(
        b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


def main(page, picture, height):
    png = with_palette(screenshot(page, int(height)))
    pathlib.Path(picture).write_bytes(png)
    print(f"{picture}: {len(png)} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
