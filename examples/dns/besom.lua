-- Lists of domains (besom build --domains) in a program with LuaJIT: calls libbesom, needs no other code.
--
--   local besom = dofile("/etc/besom/besom.lua")
--   local list = besom.open("/var/lib/besom/blocked.besom")   -- error if it cannot be read
--   local entry = list:match("www.example.com")               -- "example.com", or nil
--   list:allow("example.com")                                 -- from now on nil, also below it
--   list:refresh()                                            -- opens the file again if it was replaced
--
-- The file is mapped, and shared by all threads and processes that map it. Replace it by rename, as
-- besom update does. A list belongs to one Lua state; every state opens its own.
local ffi = require("ffi")

ffi.cdef([[
typedef struct besom_filter besom_filter;
typedef struct { const char *data; size_t len; } besom_lua_bytes;
typedef struct { unsigned flags; const void *allocator; void *fault; } besom_lua_open_options;
int besom_open_sized(const char *path, const besom_lua_open_options *options, size_t size, besom_filter **out);
void besom_free(besom_filter *f);
const char *besom_strerror(int status);
long time(long *t);
bool besom_domain_contains_wire(const besom_filter *f, const void *name, size_t len);
bool besom_domain_contains(const besom_filter *f, const char *name, size_t len, besom_lua_bytes *entry);
]])

-- The soname has the minor version until 1.0. LIBBESOM names another library.
local lib = ffi.load(os.getenv("LIBBESOM") or "libbesom.so.0.2")
local MMAP, CHECKSUMS = 1, 2
local HEADER_BYTES = 64 -- of a saved filter; its checksum depends on every byte of the file

local List = {}
List.__index = List

local function header(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local bytes = file:read(HEADER_BYTES)
  file:close()
  return bytes
end

local function open(path)
  local options = ffi.new("besom_lua_open_options", { flags = MMAP + CHECKSUMS })
  local out = ffi.new("besom_filter *[1]")
  local status = lib.besom_open_sized(path, options, ffi.sizeof(options), out)
  if status ~= 0 then return nil, path .. ": " .. ffi.string(lib.besom_strerror(status)) end
  return ffi.gc(out[0], lib.besom_free)
end

-- A name of a packet, labels with their lengths, as text.
local function to_text(wire)
  local labels, at, raw = {}, 0, ffi.cast("const uint8_t *", wire)
  while raw[at] ~= 0 do
    labels[#labels + 1] = ffi.string(raw + at + 1, raw[at])
    at = at + 1 + raw[at]
  end
  return table.concat(labels, ".")
end

-- Whether a name of a packet is listed and not allowed. One call of C for names that are not listed.
function List:has_wire(wire, len)
  if not lib.besom_domain_contains_wire(self.filter, wire, len) then return false end
  if self.has_allowed and self:is_allowed(to_text(wire)) then return false end
  self.blocked = self.blocked + 1
  return true
end

-- The part of the name that is listed, or nil.
function List:match(name)
  if not lib.besom_domain_contains(self.filter, name, #name, self.entry) then return nil end
  if self.has_allowed and self:is_allowed(name) then return nil end
  self.blocked = self.blocked + 1
  return ffi.string(self.entry.data, self.entry.len):lower()
end

function List:is_allowed(name)
  name = name:lower():gsub("%.+$", "")
  while name and name ~= "" do
    if self.allowed[name] then return true end
    name = name:match("^[^.]*%.(.*)$")
  end
  return false
end

function List:allow(name)
  self.allowed[(name:lower():gsub("%.+$", ""))] = true
  self.has_allowed = true
end

-- Names that are never blocked, one per line. A file that is missing allows none.
function List:read_allowed(path)
  local allowed = {}
  local file = io.open(path)
  if file then
    for line in file:lines() do
      local name = line:lower():match("^%s*([^%s#]+)")
      if name then allowed[(name:gsub("%.+$", ""))] = true end
    end
    file:close()
  end
  self.allowed, self.has_allowed = allowed, next(allowed) ~= nil
end

-- Opens the file again if it was replaced. If it cannot be read, the old list stays in use. Returns
-- whether the list is another one now, and what is wrong.
function List:refresh()
  if self.allowed_path then self:read_allowed(self.allowed_path) end
  local bytes = header(self.path)
  if bytes == self.header then return false end
  local filter, message = open(self.path)
  if not filter then return false, message end
  local old = self.filter
  self.filter, self.header = filter, bytes
  lib.besom_free(ffi.gc(old, nil))
  return true
end

-- The same, at most once per so many seconds: for programs that have no timer.
function List:refresh_sometimes(seconds)
  local now = tonumber(ffi.C.time(nil))
  if now - self.refreshed < seconds then return end
  self.refreshed = now
  return self:refresh()
end

local besom = {}

-- allowed_path may be nil: a file with names that are never blocked, read by refresh.
function besom.open(path, allowed_path)
  local bytes = header(path)
  local filter, message = open(path)
  if not filter then error(message) end
  local list = setmetatable({ path = path, allowed_path = allowed_path, filter = filter, header = bytes,
    entry = ffi.new("besom_lua_bytes"), allowed = {}, has_allowed = false, blocked = 0,
    refreshed = tonumber(ffi.C.time(nil)) }, List)
  if allowed_path then list:read_allowed(allowed_path) end
  return list
end

return besom
