package besom

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"io"
	"runtime"
	"runtime/cgo"
)

// Keys is a stream of keys: Next returns io.EOF after the last one. Its slice is used before the
// following call only.
type Keys interface {
	Next() ([]byte, error)
}

// A Rewinder is a stream that can start again. Some builds need that, for instance to count the
// keys; others are copied into memory then.
type Rewinder interface {
	Rewind() error
}

// sized streams know the number of their keys.
type sized interface{ size() int }

// Input is what BuildFrom reads.
type Input struct {
	Yes      Keys                          // the members
	No       Keys                          // keys that must be answered no (docs/lists.md), or nil
	Like     *Filter                       // kind, geometry and seed of this filter; Config is not read
	Progress func(done, total uint64) bool // false ends the build with ErrCancelled
}

// Build makes a filter of all keys. If Config.Capacity is 0, it is their number.
func Build(config Config, yes Keys) (*Filter, error) {
	return BuildFrom(config, Input{Yes: yes})
}

// BuildFrom makes a filter of all keys of the input.
func BuildFrom(config Config, input Input) (*Filter, error) {
	if err := config.check("build"); err != nil {
		return nil, err
	}
	if input.Yes == nil {
		return nil, &Error{Op: "build", Status: ErrInvalid, Detail: "Input.Yes is missing"}
	}
	work := &building{progress: input.Progress}
	yes, err := work.stream(input.Yes)
	if err != nil {
		return nil, err
	}
	defer yes.close()
	var no *stream
	if input.No != nil {
		if no, err = work.stream(input.No); err != nil {
			return nil, err
		}
		defer no.close()
	}
	c, release := config.inC()
	defer release()
	var like *C.besom_filter
	if input.Like != nil {
		like = input.Like.c
		if like == nil {
			return nil, ErrClosed
		}
	}
	var tick C.uintptr_t
	if input.Progress != nil {
		handle := cgo.NewHandle(work)
		defer handle.Delete()
		tick = C.uintptr_t(handle)
	}
	var out *C.besom_filter
	status := C.go_build(&c, yes.c, no.inC(), like, tick, &out)
	runtime.KeepAlive(input.Like)
	if err := work.end("build", status); err != nil {
		if like == nil && work.err == nil {
			err = explain(&c, err)
		}
		return nil, err
	}
	return newFilter(out), nil
}

// Rekey rebuilds the filter under a new random seed. yes gives all members. Reports are dropped.
func (f *Filter) Rekey(yes Keys) error {
	work := &building{}
	s, err := work.stream(yes)
	if err != nil {
		return err
	}
	defer s.close()
	if f.c == nil {
		return ErrClosed
	}
	status := C.go_rekey(f.c, s.c)
	runtime.KeepAlive(f)
	return work.end("rekey", status)
}

// building is one call of C that calls back. The first error or panic of a callback ends it.
type building struct {
	progress func(done, total uint64) bool
	err      error
	panicked any
}

func (b *building) end(op string, status C.besom_status) error {
	if b.panicked != nil {
		panic(b.panicked)
	}
	err := failed(op, status, 0)
	if e, ok := err.(*Error); ok && b.err != nil {
		e.Err = b.err
	}
	return err
}

// caught ends the work if a callback panics: a panic must not pass through C.
func (b *building) caught(status *C.besom_status) {
	if p := recover(); p != nil {
		b.panicked = p
		*status = C.BESOM_CANCELLED
	}
}

type stream struct {
	work    *building
	keys    Keys
	pending []byte // a key that did not fit into the last portion
	waits   bool
	handle  cgo.Handle
	c       *C.struct_go_source
}

func (b *building) stream(keys Keys) (*stream, error) {
	_, rewinds := keys.(Rewinder)
	if !rewinds {
		var err error
		if keys, err = collect(keys); err != nil {
			return nil, err
		}
	}
	s := &stream{work: b, keys: keys}
	var size C.uint64_t
	if known, ok := keys.(sized); ok {
		size = C.uint64_t(known.size())
	}
	s.handle = cgo.NewHandle(s)
	s.c = C.go_source_new(C.uintptr_t(s.handle), size, true)
	if s.c == nil {
		s.handle.Delete()
		return nil, &Error{Op: "build", Status: ErrNoMemory}
	}
	return s, nil
}

func (s *stream) inC() *C.struct_go_source {
	if s == nil {
		return nil
	}
	return s.c
}

func (s *stream) close() {
	C.go_source_free(s.c)
	s.handle.Delete()
}

// collect copies a stream that cannot rewind.
func collect(keys Keys) (Keys, error) {
	all := &collected{}
	for {
		key, err := keys.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, &Error{Op: "build", Status: ErrCancelled, Err: err}
		}
		all.bytes = append(all.bytes, key...)
		all.ends = append(all.ends, len(all.bytes))
	}
}

type collected struct {
	bytes []byte
	ends  []int
	at    int
}

func (c *collected) Next() ([]byte, error) {
	if c.at == len(c.ends) {
		return nil, io.EOF
	}
	start := 0
	if c.at > 0 {
		start = c.ends[c.at-1]
	}
	c.at++
	return c.bytes[start:c.ends[c.at-1]], nil
}

func (c *collected) Rewind() error { c.at = 0; return nil }
func (c *collected) size() int     { return len(c.ends) }

// list is a slice of keys as a stream.
type list[T any] struct {
	keys  []T
	at    int
	key   []byte
	bytes func(key T, to []byte) []byte
}

func (l *list[T]) Next() ([]byte, error) {
	if l.at == len(l.keys) {
		return nil, io.EOF
	}
	l.key = l.bytes(l.keys[l.at], l.key[:0])
	l.at++
	return l.key, nil
}

func (l *list[T]) Rewind() error { l.at = 0; return nil }
func (l *list[T]) size() int     { return len(l.keys) }

// FromSlice is the stream of these keys.
func FromSlice(keys [][]byte) Keys {
	return &list[[]byte]{keys: keys, bytes: func(key, to []byte) []byte { return append(to, key...) }}
}

// FromStrings is the stream of these keys.
func FromStrings(keys []string) Keys {
	return &list[string]{keys: keys, bytes: func(key string, to []byte) []byte { return append(to, key...) }}
}

// FromUint64s is the stream of these keys.
func FromUint64s(keys []uint64) Keys {
	return &list[uint64]{keys: keys, bytes: appendUint64}
}

func appendUint64(key uint64, to []byte) []byte {
	for shift := 0; shift < 64; shift += 8 {
		to = append(to, byte(key>>shift))
	}
	return to
}

type function func() ([]byte, error)

func (next function) Next() ([]byte, error) { return next() }

// FromFunc is the stream of what next returns, until its error is io.EOF.
func FromFunc(next func() ([]byte, error)) Keys { return function(next) }

// FromChan is the stream of the keys of a channel, until it is closed.
func FromChan[K []byte | string](keys <-chan K) Keys {
	return function(func() ([]byte, error) {
		key, ok := <-keys
		if !ok {
			return nil, io.EOF
		}
		return []byte(key), nil
	})
}
