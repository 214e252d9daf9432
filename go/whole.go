package besom

// #include "shim.h"
import "C"

import "runtime"

// Merge makes a filter that has the keys of a and b, which must be of one geometry and seed: see
// Empty.
func Merge(a, b *Filter) (*Filter, error) {
	if a.c == nil || b.c == nil {
		return nil, ErrClosed
	}
	var out *C.besom_filter
	status := C.besom_merge(a.c, b.c, &out)
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	if err := a.failure("merge", status); err != nil {
		return nil, err
	}
	return newFilter(out), nil
}

// Merge adds the keys of g to f.
func (f *Filter) Merge(g *Filter) error {
	merged, err := Merge(f, g)
	if err == nil {
		f.become(merged)
	}
	return err
}

// Resize changes the number of slots by a power of two. No answer changes. It is done at once.
func (f *Filter) Resize(slots uint64) error {
	status := C.besom_resize(f.c, C.uint64_t(slots), nil)
	runtime.KeepAlive(f)
	return f.failure("resize", status)
}

// Grow doubles the number of slots.
func (f *Filter) Grow() error {
	stats, err := f.Stats()
	if err != nil {
		return err
	}
	return f.Resize(2 * stats.Slots)
}

// SetReserve sets how many reports the filter holds, and whether it forgets old ones at that limit.
func (f *Filter) SetReserve(reports uint64, forget bool) error {
	status := C.besom_set_reserve(f.c, C.uint64_t(reports), C.bool(forget))
	runtime.KeepAlive(f)
	return f.failure("set-reserve", status)
}

// Share makes the filter safe for readers and writers, for example one that was loaded.
func (f *Filter) Share() error {
	status := C.besom_share(f.c)
	runtime.KeepAlive(f)
	return f.failure("share", status)
}

// Stats is what every kind can tell (besom.h: struct besom_statistics).
type Stats struct {
	Kind, Hash, ISA            string
	Keys, Capacity, Slots      uint64
	Width                      uint32
	Bytes                      uint64
	BitsPerKey, LoadFactor     float64
	ExpectedFPR, FPRAtCapacity float64
	WorkloadFPR, ReserveUsed   float64
}

// Stats describes the filter.
func (f *Filter) Stats() (Stats, error) {
	var s C.besom_statistics
	status := C.go_stats(f.c, &s)
	runtime.KeepAlive(f)
	if err := f.failure("stats", status); err != nil {
		return Stats{}, err
	}
	return Stats{
		Kind: C.GoString(s.kind), Hash: C.GoString(s.hash), ISA: C.GoString(s.isa),
		Keys: uint64(s.keys), Capacity: uint64(s.capacity), Slots: uint64(s.slots),
		Width: uint32(s.width), Bytes: uint64(s.bytes), BitsPerKey: float64(s.bits_per_key),
		LoadFactor: float64(s.load_factor), ExpectedFPR: float64(s.expected_fpr),
		FPRAtCapacity: float64(s.fpr_at_capacity), WorkloadFPR: float64(s.workload_fpr),
		ReserveUsed: float64(s.reserve_used),
	}, nil
}

// Counters are what only some kinds count: exceptions, extended fingerprints ... (docs/kinds.md).
func (f *Filter) Counters() map[string]uint64 {
	counters := make([]C.besom_counter, 64)
	n := int(C.besom_counters(f.c, &counters[0], C.size_t(len(counters))))
	runtime.KeepAlive(f)
	result := make(map[string]uint64, n)
	for i := 0; i < n && i < len(counters); i++ {
		result[C.GoString(counters[i].name)] = uint64(counters[i].value)
	}
	return result
}

// Validate checks every invariant of the filter.
func (f *Filter) Validate() error {
	var reason *C.char
	status := C.besom_validate(f.c, &reason)
	runtime.KeepAlive(f)
	err := f.failure("validate", status)
	if e, ok := err.(*Error); ok && reason != nil {
		e.Detail = C.GoString(reason)
	}
	return err
}

// Kinds lists the kinds of this build. The published systems need the build tag besom_papers.
func Kinds() []string {
	var names []string
	for i := C.size_t(0); ; i++ {
		info := C.besom_kinds(i)
		if info == nil {
			return names
		}
		names = append(names, C.GoString(info.name))
	}
}
