// Package besom has membership filters that adapt to their false positives.
//
// A filter answers "is this key in the set?" from about ten bits per key. A no is always right. A
// yes may be wrong; a false positive that is reported does not come back:
//
//	seen, err := besom.New(besom.Config{Kind: "aqf", Capacity: 1_000_000, FPR: 0.001})
//	...
//	if seen.ContainsString(url) && !inStore(url) {
//		seen.ReportString(url)
//	}
//
// Keys are byte strings: a string is its bytes, the uint64 k the 8 little-endian bytes of k. Calls
// do not keep them, and do not allocate.
//
// A filter is safe for concurrent readers. With Config.Concurrent it is safe for readers and
// writers; Locked makes the same of every filter by a lock. Wrap puts a filter in front of a slow
// function.
//
// docs/go.md is the manual, besom.h beside this package the reference of the calls.
package besom

/*
#cgo CFLAGS: -std=c11 -O2 -g0
#cgo !besom_papers CFLAGS: -DBESOM_WITHOUT_PAPERS
#cgo LDFLAGS: -lm -lpthread
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Config says what filter to make. The zero value of a field is its default; Kind, Capacity and FPR
// are complete. besom.h (struct besom_config) has the details.
type Config struct {
	Kind        string  // "aqf" if empty
	Options     string  // "name=value,name=value"
	Hash        string  // "xxh3" (default) or "sip"
	Seed        []byte  // 16 bytes; random if nil
	Capacity    uint64  // keys that the filter must hold
	MaxCapacity uint64  // keys that it can be resized to at the target FPR
	FPR         float64 // target false-positive rate; default 1/256
	BitsPerKey  float64 // instead of FPR
	ValueBits   uint32  // of a value per key
	Reserve     float64 // share of the slots for reports
	NoCapacity  uint64  // keys of the no list
	BuildMemory uint64  // bytes that Build may use
	Threads     uint32  // of Build
	Repeated    float64 // share of the keys that are inserted more than once
	Copies      uint64  // the most copies of such a key
	Concurrent  bool    // safe for readers and writers
	Set         bool    // keeps each key once, and has no Remove
	Distinct    bool    // Build inserts a repeated key once
}

// A Filter is a set of keys that answers with false positives, but never with a false no. Close
// frees it at once; else the garbage collector does.
type Filter struct {
	c *C.besom_filter
	_ noCopy
}

// noCopy makes go vet find copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

func newFilter(c *C.besom_filter) *Filter {
	f := &Filter{}
	f.own(c)
	return f
}

func (f *Filter) own(c *C.besom_filter) {
	f.c = c
	runtime.SetFinalizer(f, (*Filter).free)
}

func (f *Filter) free() {
	C.besom_free(f.c)
	f.c = nil
}

// Close frees the filter. Later calls return ErrClosed, and Contains returns true. No other call may
// run at the same time.
func (f *Filter) Close() error {
	runtime.SetFinalizer(f, nil)
	f.free()
	runtime.KeepAlive(f)
	return nil
}

// inC is the config in C's memory.
func (config *Config) inC() (c C.besom_config, release func()) {
	kind := config.Kind
	if kind == "" {
		kind = "aqf"
	}
	var memory []unsafe.Pointer
	text := func(s string) *C.char {
		if s == "" {
			return nil
		}
		p := C.CString(s)
		memory = append(memory, unsafe.Pointer(p))
		return p
	}
	c = C.besom_config{
		kind: text(kind), options: text(config.Options), hash: text(config.Hash),
		capacity: C.uint64_t(config.Capacity), max_capacity: C.uint64_t(config.MaxCapacity),
		fpr: C.double(config.FPR), bits_per_key: C.double(config.BitsPerKey),
		value_bits: C.uint32_t(config.ValueBits), reserve: C.double(config.Reserve),
		no_capacity: C.uint64_t(config.NoCapacity), build_memory: C.uint64_t(config.BuildMemory),
		threads: C.uint32_t(config.Threads), repeated: C.double(config.Repeated),
		copies: C.uint64_t(config.Copies),
	}
	if config.Seed != nil {
		seed := C.CBytes(config.Seed)
		memory = append(memory, seed)
		c.seed = (*C.uint8_t)(seed)
	}
	if config.Concurrent {
		c.flags |= C.BESOM_CONCURRENT
	}
	if config.Set {
		c.flags |= C.BESOM_SET
	}
	if config.Distinct {
		c.flags |= C.BESOM_DISTINCT
	}
	return c, func() {
		for _, p := range memory {
			C.free(p)
		}
	}
}

func (config *Config) check(op string) error {
	if config.Seed != nil && len(config.Seed) != 16 {
		return &Error{Op: op, Status: ErrInvalid, Detail: "Seed must have 16 bytes"}
	}
	return nil
}

// explain adds the sentence that says which field is wrong.
func explain(c *C.besom_config, err error) error {
	e, ok := err.(*Error)
	if ok && (e.Status == ErrInvalid || e.Status == ErrBadOption || e.Status == ErrUnknownKind) {
		text := (*C.char)(C.malloc(256))
		defer C.free(unsafe.Pointer(text))
		C.go_explain(c, text, 256)
		e.Detail = C.GoString(text)
	}
	return err
}

// New makes an empty filter. Kinds that are built of a whole set, such as "fuse", are
// ErrUnsupported: see Build.
func New(config Config) (*Filter, error) {
	if err := config.check("new"); err != nil {
		return nil, err
	}
	c, release := config.inC()
	defer release()
	var out *C.besom_filter
	if status := C.go_create(&c, &out); status != C.BESOM_OK {
		return nil, explain(&c, failed("new", status, 0))
	}
	return newFilter(out), nil
}

// Empty makes an empty filter of the kind, geometry, hash and seed of f: the two can be merged.
func (f *Filter) Empty() (*Filter, error) {
	var out *C.besom_filter
	status := C.besom_create_like(f.c, &out)
	runtime.KeepAlive(f)
	if err := f.failure("empty", status); err != nil {
		return nil, err
	}
	return newFilter(out), nil
}

// Version is that of the library.
func Version() string { return C.GoString(C.besom_version()) }
