package besom

/*
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "besom.h"
*/
import "C"

import (
	"io"
	"runtime/cgo"
	"unsafe"
)

// A portion of keys. If the first one does not fit, *needed is its length.
//
//export besomGoFill
func besomGoFill(handle C.uintptr_t, to *C.uint8_t, room C.size_t, ends *C.size_t, most C.size_t,
	n, needed *C.size_t) (status C.besom_status) {
	s := cgo.Handle(handle).Value().(*stream)
	defer s.work.caught(&status)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(to)), int(room))
	all := unsafe.Slice(ends, int(most))
	*n, *needed = 0, 0
	used, count := 0, 0
	for ; count < len(all); count++ {
		key := s.pending
		if !s.waits {
			var err error
			if key, err = s.keys.Next(); err == io.EOF {
				break
			} else if err != nil {
				s.work.err = err
				return C.BESOM_CANCELLED
			}
		}
		if used+len(key) > len(bytes) {
			s.pending, s.waits = append(s.pending[:0], key...), true
			if count == 0 {
				*needed = C.size_t(len(key))
			}
			break
		}
		s.waits = false
		used += copy(bytes[used:], key)
		all[count] = C.size_t(used)
	}
	*n = C.size_t(count)
	return C.BESOM_OK
}

//export besomGoRewind
func besomGoRewind(handle C.uintptr_t) (status C.besom_status) {
	s := cgo.Handle(handle).Value().(*stream)
	defer s.work.caught(&status)
	s.waits = false
	if err := s.keys.(Rewinder).Rewind(); err != nil {
		s.work.err = err
		return C.BESOM_CANCELLED
	}
	return C.BESOM_OK
}

//export besomGoTick
func besomGoTick(handle C.uintptr_t, done, total C.uint64_t) C.bool {
	work := cgo.Handle(handle).Value().(*building)
	status := C.besom_status(C.BESOM_OK)
	goOn := func() bool {
		defer work.caught(&status)
		return work.progress(uint64(done), uint64(total))
	}()
	return C.bool(goOn && status == C.BESOM_OK)
}

//export besomGoWrite
func besomGoWrite(handle C.uintptr_t, data *C.uint8_t, n C.size_t) (status C.besom_status) {
	to := cgo.Handle(handle).Value().(*saving)
	defer to.caught(&status)
	if n == 0 {
		return C.BESOM_OK
	}
	written, err := to.w.Write(unsafe.Slice((*byte)(unsafe.Pointer(data)), int(n)))
	to.n += int64(written)
	if err == nil && written < int(n) {
		err = io.ErrShortWrite
	}
	if err != nil {
		to.err = err
		return C.BESOM_IO
	}
	return C.BESOM_OK
}
