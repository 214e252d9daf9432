package besom

// #include "shim.h"
import "C"

import "runtime"

// A Map leads from a key to a small set of values that has every value of a member (besom_map.h: a
// maplet). A wrong candidate that is reported does not come back.
type Map struct{ f *Filter }

// NewMap makes an empty map of values with Config.ValueBits bits, 1 to 32. The kind is aqf, or
// scaling with the option base=aqf.
func NewMap(config Config) (*Map, error) {
	if config.Options != "" {
		config.Options += ","
	}
	config.Options += "maplet=yes"
	f, err := New(config)
	if err != nil {
		return nil, err
	}
	return &Map{f}, nil
}

// AsMap makes a map of a filter that was loaded. ErrUnsupported: it is none.
func AsMap(f *Filter) (*Map, error) {
	abilities := C.besom_abilities(f.c)
	runtime.KeepAlive(f)
	if abilities&C.BESOM_IS_MAPLET == 0 {
		return nil, &Error{Op: "as-map", Status: ErrUnsupported}
	}
	return &Map{f}, nil
}

// Filter is the filter of the map: Save, Stats, Close and so on.
func (m *Map) Filter() *Filter { return m.f }

// Put adds a pair. A key may have several values.
func (m *Map) Put(key []byte, value uint64) error {
	p, n := bytesIn(key)
	status := C.go_insert_value(m.f.inC(), p, n, C.uint64_t(value))
	runtime.KeepAlive(m.f)
	return m.f.failure("put", status)
}

// Get appends the candidates of the key to values: distinct and ascending.
func (m *Map) Get(key []byte, values []uint64) ([]uint64, error) {
	p, n := bytesIn(key)
	for space := 8; ; {
		var found C.size_t
		start := len(values)
		for len(values) < start+space {
			values = append(values, 0)
		}
		status := C.go_get_values(m.f.inC(), p, n, uint64sIn(values[start:]), C.size_t(space), &found)
		runtime.KeepAlive(m.f)
		if err := m.f.failure("get", status); err != nil {
			return values[:start], err
		}
		if int(found) <= space {
			return values[:start+int(found)], nil
		}
		values, space = values[:start], int(found)
	}
}

// Remove takes out one copy of a pair. Only pairs that were put.
func (m *Map) Remove(key []byte, value uint64) error {
	p, n := bytesIn(key)
	status := C.go_remove_value(m.f.inC(), p, n, C.uint64_t(value))
	runtime.KeepAlive(m.f)
	return m.f.failure("remove", status)
}

// Report tells the map that the value is no value of the key.
func (m *Map) Report(key []byte, value uint64) error {
	p, n := bytesIn(key)
	status := C.go_adapt_value(m.f.inC(), p, n, C.uint64_t(value))
	runtime.KeepAlive(m.f)
	return m.f.failure("report", status)
}

// Close frees the map.
func (m *Map) Close() error { return m.f.Close() }
