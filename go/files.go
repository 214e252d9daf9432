package besom

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"bytes"
	"io"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// Save writes a file: a crash leaves the old file or the new one.
func (f *Filter) Save(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var errno C.int
	status := C.go_save_file(f.c, name, &errno)
	runtime.KeepAlive(f)
	if f.c == nil {
		return ErrClosed
	}
	return failed("save", status, errno)
}

func open(path string, flags C.uint) (*Filter, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var out *C.besom_filter
	var errno C.int
	if status := C.go_open(name, flags, &out, &errno); status != C.BESOM_OK {
		return nil, failed("open", status, errno)
	}
	return newFilter(out), nil
}

// Load reads a saved filter into memory, after it has checked every invariant of the file.
func Load(path string) (*Filter, error) { return open(path, 0) }

// Open uses a saved filter in place: read-only, processes share its pages. Reports are kept in
// memory. Nobody may truncate or change the file meanwhile; replacing it by rename is safe.
func Open(path string) (*Filter, error) { return open(path, C.BESOM_OPEN_MMAP) }

// LoadBytes makes a filter of the bytes that Save or WriteTo has written.
func LoadBytes(data []byte) (*Filter, error) {
	p, n := bytesIn(data)
	var out *C.besom_filter
	if p == nil {
		return nil, &Error{Op: "load", Status: ErrCorrupt}
	}
	if status := C.go_load(p, n, &out); status != C.BESOM_OK {
		return nil, failed("load", status, 0)
	}
	return newFilter(out), nil
}

// saving is a call of C that writes.
type saving struct {
	building
	w io.Writer
	n int64
}

func writeBy(op string, w io.Writer, call func(handle C.uintptr_t) C.besom_status) (int64, error) {
	to := &saving{w: w}
	handle := cgo.NewHandle(to)
	defer handle.Delete()
	status := call(C.uintptr_t(handle))
	return to.n, to.end(op, status)
}

// WriteTo writes what Save writes.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	if f.c == nil {
		return 0, ErrClosed
	}
	defer runtime.KeepAlive(f)
	return writeBy("write", w, func(to C.uintptr_t) C.besom_status { return C.go_save(f.c, to) })
}

// ReadFrom makes f the filter that r has the bytes of, up to its end. On failure f is unchanged.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return int64(len(data)), err
	}
	fresh, err := LoadBytes(data)
	if err != nil {
		return int64(len(data)), err
	}
	f.become(fresh)
	return int64(len(data)), nil
}

// become takes the filter of fresh.
func (f *Filter) become(fresh *Filter) {
	c := fresh.c
	fresh.c = nil
	runtime.SetFinalizer(fresh, nil)
	if f.c != nil {
		_ = f.Close()
	}
	f.own(c)
}

// MarshalBinary returns what WriteTo writes.
func (f *Filter) MarshalBinary() ([]byte, error) {
	var b bytes.Buffer
	_, err := f.WriteTo(&b)
	return b.Bytes(), err
}

// UnmarshalBinary is ReadFrom for bytes.
func (f *Filter) UnmarshalBinary(data []byte) error {
	fresh, err := LoadBytes(data)
	if err == nil {
		f.become(fresh)
	}
	return err
}

// Diff writes the difference of f to a newer version, for shipping updates of a list (docs/lists.md).
func (f *Filter) Diff(newer *Filter, w io.Writer) error {
	if f.c == nil || newer.c == nil {
		return ErrClosed
	}
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(newer)
	_, err := writeBy("diff", w, func(to C.uintptr_t) C.besom_status { return C.go_diff(f.c, newer.c, to) })
	return err
}

// Patch makes the newer version of f. ErrIncompatible: the patch is for another filter.
func (f *Filter) Patch(patch []byte) (*Filter, error) {
	p, n := bytesIn(patch)
	var out *C.besom_filter
	if p == nil {
		return nil, &Error{Op: "patch", Status: ErrCorrupt}
	}
	status := C.go_patch(f.c, p, n, &out)
	runtime.KeepAlive(f)
	if err := f.failure("patch", status); err != nil {
		return nil, err
	}
	return newFilter(out), nil
}
