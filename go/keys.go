package besom

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

func uint64sIn(keys []uint64) *C.uint64_t { return (*C.uint64_t)(unsafe.Pointer(&keys[0])) }

func bytesIn(b []byte) (*C.uint8_t, C.size_t) {
	if len(b) == 0 {
		return nil, 0
	}
	return (*C.uint8_t)(unsafe.Pointer(&b[0])), C.size_t(len(b))
}

// unsafeBytes are the bytes of a string, which nobody may change.
func unsafeBytes(s string) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&s))), len(s))
}

func stringIn(s string) (*C.uint8_t, C.size_t) {
	if len(s) == 0 {
		return nil, 0
	}
	return (*C.uint8_t)(*(*unsafe.Pointer)(unsafe.Pointer(&s))), C.size_t(len(s))
}

// inC is the filter as a number: cgo checks pointers to it in every call, and allocates for that.
func (f *Filter) inC() C.uintptr_t { return C.uintptr_t(uintptr(unsafe.Pointer(f.c))) }

// Contains tells whether the key may be a member. A no is certain.
func (f *Filter) Contains(key []byte) bool {
	p, n := bytesIn(key)
	yes := bool(C.go_contains(f.inC(), p, n))
	runtime.KeepAlive(f)
	return yes
}

// ContainsString is Contains for the bytes of a string.
func (f *Filter) ContainsString(key string) bool {
	p, n := stringIn(key)
	yes := bool(C.go_contains(f.inC(), p, n))
	runtime.KeepAlive(f)
	return yes
}

// ContainsUint64 is Contains for the 8 little-endian bytes of key.
func (f *Filter) ContainsUint64(key uint64) bool {
	yes := bool(C.go_contains_u64(f.inC(), C.uint64_t(key)))
	runtime.KeepAlive(f)
	return yes
}

// Add inserts the key. ErrFull: there is no room; Resize makes some.
func (f *Filter) Add(key []byte) error {
	p, n := bytesIn(key)
	status := C.go_insert(f.inC(), p, n)
	runtime.KeepAlive(f)
	return f.failure("add", status)
}

// AddString is Add for the bytes of a string.
func (f *Filter) AddString(key string) error {
	p, n := stringIn(key)
	status := C.go_insert(f.inC(), p, n)
	runtime.KeepAlive(f)
	return f.failure("add", status)
}

// AddUint64 is Add for the 8 little-endian bytes of key.
func (f *Filter) AddUint64(key uint64) error {
	status := C.go_insert_u64(f.inC(), C.uint64_t(key))
	runtime.KeepAlive(f)
	return f.failure("add", status)
}

// Remove takes out one copy of a member. Remove only what was added: else it may take out another
// key.
func (f *Filter) Remove(key []byte) error {
	p, n := bytesIn(key)
	status := C.go_remove(f.inC(), p, n)
	runtime.KeepAlive(f)
	return f.failure("remove", status)
}

// RemoveString is Remove for the bytes of a string.
func (f *Filter) RemoveString(key string) error {
	p, n := stringIn(key)
	status := C.go_remove(f.inC(), p, n)
	runtime.KeepAlive(f)
	return f.failure("remove", status)
}

// RemoveUint64 is Remove for the 8 little-endian bytes of key.
func (f *Filter) RemoveUint64(key uint64) error {
	status := C.go_remove_u64(f.inC(), C.uint64_t(key))
	runtime.KeepAlive(f)
	return f.failure("remove", status)
}

// Report tells the filter that key is a false positive: from now on it answers no. The caller has
// made sure that the key is absent. ErrReserveFull: the memory for reports is used up.
func (f *Filter) Report(key []byte) error {
	p, n := bytesIn(key)
	status := C.go_adapt(f.inC(), p, n)
	runtime.KeepAlive(f)
	return f.failure("report", status)
}

// ReportString is Report for the bytes of a string.
func (f *Filter) ReportString(key string) error {
	p, n := stringIn(key)
	status := C.go_adapt(f.inC(), p, n)
	runtime.KeepAlive(f)
	return f.failure("report", status)
}

// ReportUint64 is Report for the 8 little-endian bytes of key.
func (f *Filter) ReportUint64(key uint64) error {
	status := C.go_adapt_u64(f.inC(), C.uint64_t(key))
	runtime.KeepAlive(f)
	return f.failure("report", status)
}

// NoAdd puts an absent key on the no list: it is answered no, whatever is added later.
func (f *Filter) NoAdd(key []byte) error {
	p, n := bytesIn(key)
	status := C.go_no_add(f.inC(), p, n)
	runtime.KeepAlive(f)
	return f.failure("no-add", status)
}

// NoRemove takes a key off the no list.
func (f *Filter) NoRemove(key []byte) error {
	p, n := bytesIn(key)
	status := C.go_no_remove(f.inC(), p, n)
	runtime.KeepAlive(f)
	return f.failure("no-remove", status)
}

// ContainsDomain asks a list of domains (docs/lists.md) for the name and its parents.
func (f *Filter) ContainsDomain(name string) bool {
	p, n := stringIn(name)
	yes := bool(C.go_domain_contains(f.inC(), p, n))
	runtime.KeepAlive(f)
	return yes
}
