# SPDX-License-Identifier: Apache-2.0
"""Files of checkpoints, opened so that no code in them runs: torch's own by its weights-only loader,
safetensors by name, the metadata of torch.distributed.checkpoint (DCP) by an unpickler that knows
the classes of that metadata and no other.

Everything raises Refused, one line that names the file (and the tensor). What comes back is made of
dicts, lists, numbers, texts and tensors; tensors of safetensors and DCP are `Stored`: shape and type
now, values when asked for.
"""

import contextlib
import io
import pathlib
import pickle
import re
import warnings

import torch

PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl")


class Refused(RuntimeError):
    """A file that is not read, and why; one line."""


class Stored:
    """A tensor of a file: shape, dtype, file; load() reads it, and checks that it has both."""

    def __init__(self, file, name, shape, dtype, read):
        self.file, self.name, self.shape, self.dtype = file, name, torch.Size(shape), dtype
        self._read = read

    def load(self):
        try:
            tensor = self._read()
        except Refused:
            raise
        except Exception as error:
            raise Refused(f"{self.file}: tensor {self.name}: {first_line(error)}") from None
        if tensor.shape != self.shape or tensor.dtype != self.dtype:
            raise Refused(f"{self.file}: tensor {self.name}: is {tensor.dtype} {list(tensor.shape)}, "
                          f"the file's own list says {self.dtype} {list(self.shape)}")
        return tensor


def first_line(error):
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


# --- torch.save -----------------------------------------------------------------------------------


def numpy_globals():
    """What a random state of numpy is made of: arrays of numbers, no code. The Trainer's rng_state
    files hold one."""
    try:
        import numpy
    except ImportError:
        return []
    core = getattr(numpy, "_core", None) or numpy.core
    return [core.multiarray._reconstruct, numpy.ndarray, numpy.dtype,
            type(numpy.dtype(numpy.uint32)), type(numpy.dtype(numpy.uint64))]


def read_torch(path, source=None):
    """What torch.save wrote. `source`: an open stream instead of the file."""
    path = pathlib.Path(path)
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.serialization.safe_globals(numpy_globals()))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        try:
            if source is not None:
                return torch.load(source, map_location="cpu", weights_only=True)
            try:
                return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            except RuntimeError as error:
                if "mmap can only be used" not in str(error):
                    raise
                return torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            raise Refused(f"{path}: {why_refused(error)}") from None


def why_refused(error):
    if isinstance(error, pickle.UnpicklingError) and "Weights only load failed" in str(error):
        named = re.search(r"GLOBAL ([\w.]+)", str(error)) or re.search(
            r"(?:class|function|Trying to \w+) `?([\w.]+\.[\w.]+)", str(error))
        what = f" ({named.group(1)})" if named else ""
        return f"holds more than numbers{what}, weights-only loading refuses it"
    return f"cannot be read by weights-only loading: {first_line(error)}"


# --- safetensors ----------------------------------------------------------------------------------


def read_safetensors(path):
    """Names to tensors, in the order of the file's header."""
    try:
        from safetensors import safe_open
    except ImportError:
        raise Refused(f"{path}: needs safetensors in this environment: pip install safetensors") \
            from None
    try:
        file = safe_open(str(path), framework="pt")
        return {name: _of_safetensors(path, file, name) for name in file.keys()}
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"{path}: {first_line(error)}") from None


def _of_safetensors(path, file, name):
    part = file.get_slice(name)
    kinds = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
             "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32",
             "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}
    if part.get_dtype() not in kinds:
        raise Refused(f"{path}: tensor {name}: type {part.get_dtype()} is none that a capsule holds")
    return Stored(path, name, part.get_shape(), getattr(torch, kinds[part.get_dtype()]),
                  lambda: file.get_tensor(name))


# --- torch.distributed.checkpoint -----------------------------------------------------------------

METADATA = ".metadata"
_PLAIN = {
    ("torch.distributed.checkpoint.metadata", name) for name in (
        "Metadata", "TensorStorageMetadata", "BytesStorageMetadata", "ChunkStorageMetadata",
        "TensorProperties", "MetadataIndex", "StorageMeta", "_MEM_FORMAT_ENCODING")
} | {("torch.distributed.checkpoint.filesystem", "_StorageInfo"), ("torch", "Size"),
     ("torch.serialization", "_get_layout"), ("collections", "OrderedDict"),
     ("pathlib", "Path"), ("pathlib", "PosixPath"), ("pathlib", "PurePosixPath")}


def _member(kind, name):
    from torch.distributed.checkpoint.metadata import _MEM_FORMAT_ENCODING
    if kind is not _MEM_FORMAT_ENCODING or name not in kind.__members__:
        raise Refused(f"asks for {name} of {kind}, which is no part of such metadata")
    return kind[name]


class _Metadata(pickle.Unpickler):
    """Makes objects of the classes above and torch's types; any other name is refused."""

    def find_class(self, module, name):
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        if (module, name) == ("builtins", "getattr"):  # how Python 3.11 writes a member of an Enum
            return _member
        raise Refused(f"names {module}.{name}, which is no part of such metadata")


def read_metadata(path):
    try:
        with open(path, "rb") as file:
            metadata = _Metadata(file).load()
        if not (isinstance(metadata.state_dict_metadata, dict)
                and isinstance(metadata.storage_data, dict)):
            raise Refused("holds no list of tensors")
    except Exception as error:
        raise Refused(f"{path}: {first_line(error)}") from None
    return metadata


def read_dcp(folder):
    """The nested dicts that were saved, and (key, why) of what is not read."""
    from torch.distributed.checkpoint.metadata import TensorStorageMetadata
    folder = pathlib.Path(folder)
    metadata = read_metadata(folder / METADATA)
    paths = metadata.planner_data if isinstance(metadata.planner_data, dict) else {}
    result, refused = {}, []
    for key, stored in metadata.state_dict_metadata.items():
        try:
            if isinstance(stored, TensorStorageMetadata):
                value = _dcp_tensor(folder, metadata, key, stored)
            else:
                value = read_torch(folder / METADATA, _dcp_bytes(folder, metadata, key, None))
        except Refused as error:
            if isinstance(stored, TensorStorageMetadata):
                raise
            refused.append((key, str(error).replace(str(folder / METADATA), str(folder))))
            continue
        _put(result, paths.get(key, (key,)), value)
    return result, refused


def _put(tree, path, value):
    """Lists were numbered by DCP; they come back as dicts of those numbers."""
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    tree[path[-1]] = value


def _dcp_bytes(folder, metadata, key, offset):
    """The stream of one item of a .distcp file."""
    found = [info for index, info in metadata.storage_data.items()
             if index.fqn == key and (offset is None or index.offset is None
                                      or tuple(index.offset) == tuple(offset))]
    if not found:
        raise Refused(f"{folder / METADATA}: tensor {key}: is in no file")
    info = found[0]
    file = folder / info.relative_path
    if pathlib.PurePath(info.relative_path).name != info.relative_path:
        raise Refused(f"{folder / METADATA}: {key}: names a file outside the folder: "
                      f"{info.relative_path}")
    if getattr(info, "transform_descriptors", None):
        raise Refused(f"{file}: tensor {key}: is compressed by {info.transform_descriptors[0]}")
    try:
        with open(file, "rb") as stream:
            stream.seek(info.offset)
            data = stream.read(info.length)
    except OSError as error:
        raise Refused(f"{file}: tensor {key}: {error.strerror}") from None
    if len(data) != info.length:
        raise Refused(f"{file}: tensor {key}: truncated: {len(data)} of {info.length} bytes")
    return io.BytesIO(data)


def _dcp_tensor(folder, metadata, key, stored):
    sizes = [(tuple(chunk.offsets), tuple(chunk.sizes)) for chunk in stored.chunks]
    _check_tiling(folder / METADATA, key, tuple(stored.size), sizes)

    def read():
        whole = torch.empty(stored.size, dtype=stored.properties.dtype)
        for offsets, extent in sizes:
            part = read_torch(folder, _dcp_bytes(folder, metadata, key, offsets))
            if not isinstance(part, torch.Tensor) or tuple(part.shape) != extent \
                    or part.dtype != whole.dtype:
                raise Refused(f"{folder}: tensor {key}: its piece at {list(offsets)} has another "
                              "shape or type than the metadata say")
            whole[tuple(slice(o, o + e) for o, e in zip(offsets, extent))] = part
        return whole

    return Stored(folder, key, stored.size, stored.properties.dtype, read)


def _check_tiling(file, key, shape, pieces):
    """Each element in exactly one piece: inside, disjoint, and as many as there are."""
    total, count = 1, 0
    for extent in shape:
        total *= extent
    for number, (offsets, extent) in enumerate(pieces):
        inside = len(offsets) == len(extent) == len(shape) and all(
            0 <= o and o + e <= s for o, e, s in zip(offsets, extent, shape))
        overlap = inside and any(
            all(max(a, b) < min(a + x, b + y) for a, x, b, y in zip(offsets, extent, others, sizes))
            for others, sizes in pieces[:number])
        if not inside or (overlap and total):
            raise Refused(f"{file}: tensor {key}: the piece at {list(offsets)} of {list(extent)} "
                          f"{'overlaps another' if inside else 'is outside'} of {list(shape)}")
        volume = 1
        for size in extent:
            volume *= size
        count += volume
    if count != total:
        raise Refused(f"{file}: tensor {key}: the pieces cover {count} of {total} elements")
