# SPDX-License-Identifier: Apache-2.0
"""Recomputes the test vectors of docs/trace_format.md from the formulas there, in plain Python.

Independent of the C++ code: it shares the document alone. Usage: fingerprint_reference.py DOCUMENT
"""
import math
import struct
import sys

MASK = (1 << 64) - 1
G = 0x9E3779B97F4A7C15


def mix(x):
    x &= MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def block_hash(i):
    return mix(((i >> 6) + 1) * G)


def key(i):
    lane = mix(0x6C616E6573000000 + (i & 63) * G) & ~(1 << 32)
    return (block_hash(i) ^ lane) | 1 << 32


def term(bits, k):
    return (bits ^ (k & 0xFFFFFFFF)) * ((k >> 32) | 1)


def bucket_and_sign(i):
    bucket = ((i & 63) + (block_hash(i) >> 58)) % 64
    return bucket, "-" if mix(block_hash(i) + G) >> (i & 63) & 1 else "+"


def narrow_value(code, exponent_bits, mantissa_bits, has_infinity):
    bias = (1 << (exponent_bits - 1)) - 1
    mantissa = code & ((1 << mantissa_bits) - 1)
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
    if exponent == (1 << exponent_bits) - 1:
        if has_infinity:
            return sign * math.inf if mantissa == 0 else math.nan
        if mantissa == (1 << mantissa_bits) - 1:
            return math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


FLOATS = {"fp32": (8, 23, True), "fp16": (5, 10, True), "bf16": (8, 7, True),
          "fp8_e4m3": (4, 3, False), "fp8_e5m2": (5, 2, True)}
INTEGERS = {"int64": 8, "int32": 4, "int16": 2, "int8": 1}


def element(dtype, code, i):
    """(term of the value digest, is finite)"""
    k = key(i)
    if dtype in FLOATS:
        value = narrow_value(code, *FLOATS[dtype])
        if math.isnan(value):
            return term(0x7FC00000, k), False
        bits = struct.unpack("<I", struct.pack("<f", value))[0] if value != 0 else 0
        return term(bits, k), math.isfinite(value)
    if dtype == "fp64":
        value = struct.unpack("<d", struct.pack("<Q", code))[0]
        bits = 0x7FF8000000000000 if math.isnan(value) else 0 if value == 0 else code
        tags = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB)
    else:
        value = 0
        bits = code
        if dtype == "bool":
            bits = int(code != 0)
        elif dtype in INTEGERS and code >> (8 * INTEGERS[dtype] - 1):
            bits = code - (1 << 8 * INTEGERS[dtype]) & MASK
        tags = (0x8EBC6AF09C88C6E3, 0x589965CC75374CC3)
    total = term(bits & 0xFFFFFFFF, k ^ tags[0]) + term(bits >> 32, k ^ tags[1])
    return total, math.isfinite(value)


def digests(dtype, first, codes):
    value = mask = 0
    for i, code in enumerate(codes, first):
        part, finite = element(dtype, code, i)
        value += part
        if not finite:
            mask += (mix(0x6D61736B73000000 + i * G) << 24 & MASK) | 1
    return value & MASK, mask & MASK


def main(document):
    types = set(FLOATS) | set(INTEGERS) | {"fp64", "uint8", "bool"}
    seen, faults = set(), []
    for line in open(document, encoding="utf-8"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 6 and cells[0] in types:
            codes = [int(code, 16) for code in cells[2].split()]
            found = tuple(f"{digest:016x}" for digest in digests(cells[0], int(cells[1]), codes))
            seen.add(cells[0])
            if found != (cells[3], cells[4]):
                faults.append(f"{line.strip()}: formulas give {found}")
            # The twin: one place further the digest is another.
            if digests(cells[0], int(cells[1]) + 1, codes)[0] == int(cells[3], 16):
                faults.append(f"{line.strip()}: the place does not matter")
        elif len(cells) == 3 and cells[0].isdigit() and cells[2] in "+-":
            seen.add("sketch")
            bucket, sign = bucket_and_sign(int(cells[0]))
            if (str(bucket), sign) != (cells[1], cells[2]):
                faults.append(f"{line.strip()}: formulas give {bucket} {sign}")
    missing = (types | {"sketch"}) - seen
    if missing:
        faults.append(f"no vectors for {sorted(missing)}")
    print("\n".join(faults) if faults else f"vectors of {len(types)} types and the sketch agree")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
