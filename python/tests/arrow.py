"""Arrow arrays without pyarrow: the C data interface, by ctypes."""

import ctypes

_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Schema(ctypes.Structure):
    _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p),
                ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                ("dictionary", ctypes.c_void_p), ("release", _Release),
                ("private_data", ctypes.c_void_p)]


class _Array(ctypes.Structure):
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64),
                ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p),
                ("release", _Release), ("private_data", ctypes.c_void_p)]


@_Release
def _release(_):
    pass


class Array:
    """What pyarrow.Array is to besom. buffers: bytes or None; it must outlive its capsules."""

    def __init__(self, format, length, buffers, offset=0, null_count=0):
        self._data = [buffer and ctypes.create_string_buffer(buffer, len(buffer))
                      for buffer in buffers]
        pointers = [data and ctypes.addressof(data) for data in self._data]
        self._pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        self._schema = _Schema(format=format.encode(), release=_release)
        self._array = _Array(length=length, offset=offset, null_count=null_count,
                             n_buffers=len(buffers), buffers=self._pointers, release=_release)

    def __arrow_c_array__(self, requested_schema=None):
        return (_capsule(ctypes.addressof(self._schema), b"arrow_schema", None),
                _capsule(ctypes.addressof(self._array), b"arrow_array", None))


def strings(keys, large=False, offset=0):
    """An Arrow array of str, bytes or None."""
    data, offsets, valid = b"", [0], 0
    for i, key in enumerate(keys):
        if key is not None:
            valid |= 1 << i
            data += key.encode() if isinstance(key, str) else key
        offsets.append(len(data))
    width = 8 if large else 4
    return Array("U" if large else "u", len(keys) - offset,
                 [valid.to_bytes(len(keys) // 8 + 1, "little"),
                  b"".join(o.to_bytes(width, "little") for o in offsets), data or b"\0"],
                 offset, sum(key is None for key in keys))
