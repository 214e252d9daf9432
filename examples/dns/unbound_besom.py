"""A list of domains in unbound, by its Python module: names that are listed get NXDOMAIN.

  BESOM_LIST      the file of besom build --domains, which besom update replaces
  BESOM_ALLOWED   names that are never blocked, one per line
  BESOM_REFRESH   seconds after which changes of both are noticed; default 5

No query is lost when a list is replaced. The log has the number of blocked
queries when unbound ends, and BESOM_COUNTER, if it is set, names a file that has it. To unblock a name,
add it to BESOM_ALLOWED.

Limits: unbound asks its cache before this module, so a name that was answered before it was listed is
answered until its time to live is over, and a name that was blocked is not cached. After an update:
`unbound-control flush_zone NAME`, or `unbound-control reload`, which empties the cache. All threads of
unbound run Python code one at a time.
"""
import ctypes
import os
import time

REFRESH_SECONDS = float(os.environ.get("BESOM_REFRESH", "5"))
HEADER_BYTES = 64  # of a saved filter; its checksum depends on every byte of the file
MMAP, CHECKSUMS = 1, 2


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class OpenOptions(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint), ("allocator", ctypes.c_void_p), ("fault", ctypes.c_void_p)]


lib = ctypes.CDLL(os.environ.get("LIBBESOM", "libbesom.so.0.2"))
lib.besom_open_sized.argtypes = [ctypes.c_char_p, ctypes.POINTER(OpenOptions), ctypes.c_size_t,
                                 ctypes.POINTER(ctypes.c_void_p)]
lib.besom_free.argtypes = [ctypes.c_void_p]
lib.besom_free.restype = None
lib.besom_strerror.argtypes = [ctypes.c_int]
lib.besom_strerror.restype = ctypes.c_char_p
lib.besom_domain_contains.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(Bytes)]
lib.besom_domain_contains.restype = ctypes.c_bool


def open_filter(path):
    options, out = OpenOptions(MMAP | CHECKSUMS, None, None), ctypes.c_void_p()
    status = lib.besom_open_sized(path.encode(), options, ctypes.sizeof(options), out)
    if status:
        raise OSError(f"{path}: {lib.besom_strerror(status).decode()}")
    return out


def read_header(path):
    with open(path, "rb") as file:
        return file.read(HEADER_BYTES)


def read_allowed(path):
    try:
        with open(path, encoding="ascii") as file:
            return {line.split("#")[0].strip().rstrip(".").lower() for line in file} - {""}
    except (OSError, TypeError):
        return set()


class BlockedNames:
    def __init__(self):
        self.path, self.allowed_path = os.environ["BESOM_LIST"], os.environ.get("BESOM_ALLOWED")
        self.header, self.filter = read_header(self.path), open_filter(self.path)
        self.allowed, self.blocked, self.refreshed = read_allowed(self.allowed_path), 0, time.monotonic()

    def refresh(self):
        """The old list stays in use if the new one cannot be read."""
        if time.monotonic() - self.refreshed < REFRESH_SECONDS:
            return
        self.refreshed = time.monotonic()
        self.allowed = read_allowed(self.allowed_path)
        self.count()
        try:
            header = read_header(self.path)
            if header == self.header:
                return
            fresh = open_filter(self.path)
        except OSError as error:
            log_warn(f"besom: {error}")
            return
        lib.besom_free(self.filter)
        self.filter, self.header = fresh, header

    def count(self):
        if "BESOM_COUNTER" in os.environ:
            with open(os.environ["BESOM_COUNTER"], "w", encoding="ascii") as file:
                print(self.blocked, file=file)

    def has(self, name):
        if not lib.besom_domain_contains(self.filter, name.encode(), len(name), None):
            return False
        labels = name.rstrip(".").lower().split(".")
        if self.allowed and any(".".join(labels[i:]) in self.allowed for i in range(len(labels))):
            return False
        self.blocked += 1
        return True


names = None


def init(id, cfg):
    global names
    names = BlockedNames()
    return True


def deinit(id):
    names.count()
    log_info(f"besom: {names.blocked} queries were blocked")
    return True


def inform_super(id, qstate, superqstate, qdata):
    return True


def operate(id, event, qstate, qdata):
    if event in (MODULE_EVENT_NEW, MODULE_EVENT_PASS):
        names.refresh()
        if names.has(qstate.qinfo.qname_str):
            qstate.return_rcode = RCODE_NXDOMAIN
            qstate.ext_state[id] = MODULE_FINISHED
        else:
            qstate.ext_state[id] = MODULE_WAIT_MODULE
    elif event == MODULE_EVENT_MODDONE:
        qstate.ext_state[id] = MODULE_FINISHED
    else:
        qstate.ext_state[id] = MODULE_ERROR
    return True
