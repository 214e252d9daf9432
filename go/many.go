package besom

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
)

// packed keys go to C in one call: C must not see an array of Go pointers.
type packed struct {
	bytes  []byte
	ends   []C.size_t
	bitmap []C.uint64_t
}

const packedKeys = 1 << 14

var packs = sync.Pool{New: func() any { return new(packed) }}

func (p *packed) reset() *packed {
	p.bytes, p.ends = p.bytes[:0], p.ends[:0]
	return p
}

func (p *packed) contains(f *Filter, answers []bool) error {
	words := (len(p.ends) + 63) / 64
	for len(p.bitmap) < words {
		p.bitmap = append(p.bitmap, 0)
	}
	data, _ := bytesIn(p.bytes)
	status := C.go_contains_packed(f.inC(), data, &p.ends[0], C.size_t(len(p.ends)), &p.bitmap[0])
	runtime.KeepAlive(f)
	for i := range answers {
		answers[i] = status != C.BESOM_OK || p.bitmap[i/64]>>(i%64)&1 != 0
	}
	return f.failure("contains", status)
}

// room returns a slice of n answers.
func room(answers []bool, n int) []bool {
	if cap(answers) < n {
		return make([]bool, n)
	}
	return answers[:n]
}

func containsMany[K []byte | string](f *Filter, keys []K, answers []bool) ([]bool, error) {
	answers = room(answers, len(keys))
	p := packs.Get().(*packed)
	defer packs.Put(p)
	for from := 0; from < len(keys); from += packedKeys {
		p.reset()
		to := from + packedKeys
		if to > len(keys) {
			to = len(keys)
		}
		for _, key := range keys[from:to] {
			p.bytes = append(p.bytes, key...)
			p.ends = append(p.ends, C.size_t(len(p.bytes)))
		}
		if err := p.contains(f, answers[from:to]); err != nil {
			for i := from; i < len(answers); i++ {
				answers[i] = true
			}
			return answers, err
		}
	}
	return answers, nil
}

// ContainsMany asks for many keys in one call of C. The answers are written to the slice, which is
// made if it is too short.
func (f *Filter) ContainsMany(keys [][]byte, answers []bool) ([]bool, error) {
	return containsMany(f, keys, answers)
}

// ContainsStrings is ContainsMany for strings.
func (f *Filter) ContainsStrings(keys []string, answers []bool) ([]bool, error) {
	return containsMany(f, keys, answers)
}

// ContainsUint64s is ContainsMany for integers, which are not copied.
func (f *Filter) ContainsUint64s(keys []uint64, answers []bool) ([]bool, error) {
	answers = room(answers, len(keys))
	if len(keys) == 0 {
		return answers, nil
	}
	p := packs.Get().(*packed)
	defer packs.Put(p)
	for len(p.bitmap) < (len(keys)+63)/64 {
		p.bitmap = append(p.bitmap, 0)
	}
	status := C.go_contains_many_u64(f.inC(), uint64sIn(keys), C.size_t(len(keys)), &p.bitmap[0])
	runtime.KeepAlive(f)
	for i := range answers {
		answers[i] = status != C.BESOM_OK || p.bitmap[i/64]>>(i%64)&1 != 0
	}
	return answers, f.failure("contains", status)
}

func addMany[K []byte | string](f *Filter, keys []K) (done int, err error) {
	p := packs.Get().(*packed)
	defer packs.Put(p)
	for len(keys) > 0 && err == nil {
		p.reset()
		n := len(keys)
		if n > packedKeys {
			n = packedKeys
		}
		for _, key := range keys[:n] {
			p.bytes = append(p.bytes, key...)
			p.ends = append(p.ends, C.size_t(len(p.bytes)))
		}
		keys = keys[n:]
		var now C.size_t
		data, _ := bytesIn(p.bytes)
		status := C.go_insert_packed(f.inC(), data, &p.ends[0], C.size_t(n), &now)
		runtime.KeepAlive(f)
		done += int(now)
		err = f.failure("add", status)
	}
	return done, err
}

// AddMany adds keys in order, stops at the first failure, and returns how many it has added.
func (f *Filter) AddMany(keys [][]byte) (int, error) { return addMany(f, keys) }

// AddStrings is AddMany for strings.
func (f *Filter) AddStrings(keys []string) (int, error) { return addMany(f, keys) }

// AddUint64s is AddMany for integers, which are not copied.
func (f *Filter) AddUint64s(keys []uint64) (int, error) {
	if len(keys) == 0 {
		return 0, nil
	}
	var done C.size_t
	status := C.go_insert_many_u64(f.inC(), uint64sIn(keys), C.size_t(len(keys)), &done)
	runtime.KeepAlive(f)
	return int(done), f.failure("add", status)
}
