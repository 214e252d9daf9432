package besom

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
)

// A Key is what Wrap's function is asked for.
type Key interface{ string | uint64 }

// A Lookup is a slow function: of a database or of a network. It returns false if there is no such
// key.
type Lookup[K Key, V any] func(ctx context.Context, key K) (V, bool, error)

// A Guard stands in front of a slow function. It answers most queries for absent keys itself, and a
// false positive that the function has answered does not come back. Safe for concurrent use.
type Guard[K Key, V any] struct {
	lookup Lookup[K, V]
	f      *Filter

	mu      sync.Mutex // of changes of the filter
	changes uint64     // begun by Put; atomic
	writing int64      // writes of Put that run; atomic

	asked, avoided, wrong, reported uint64 // atomic
}

// GuardStats counts what a guard did.
type GuardStats struct {
	Asked          uint64 // queries
	Avoided        uint64 // answered no without the function
	FalsePositives uint64 // the function said no
	Reported       uint64 // of these, reported to the filter
}

// Wrap puts a filter of these keys in front of the function. keys must be all that it knows. The
// zero Config is an aqf with twice their capacity and a false-positive rate of 1/256. A full filter
// is doubled, up to Config.MaxCapacity (16 times the capacity, if it is 0) at its rate.
func Wrap[K Key, V any](lookup Lookup[K, V], keys []K, config Config) (*Guard[K, V], error) {
	if config.Capacity == 0 {
		config.Capacity = 2*uint64(len(keys)) + 1024
	}
	if config.MaxCapacity == 0 {
		config.MaxCapacity = 16 * config.Capacity
	}
	if config.Options == "" {
		config.Options = "forget=yes" // old reports, if there are more than Config.Reserve allows
	}
	config.Concurrent = true
	f, err := New(config)
	if err != nil {
		return nil, err
	}
	g := &Guard[K, V]{lookup: lookup, f: f}
	for _, key := range keys {
		if err := g.add(key); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return g, nil
}

func (g *Guard[K, V]) contains(key K) bool {
	switch k := any(key).(type) {
	case string:
		return g.f.ContainsString(k)
	case uint64:
		return g.f.ContainsUint64(k)
	}
	return true
}

func keyBytes[K Key](key K) []byte {
	switch k := any(key).(type) {
	case string:
		return []byte(k)
	case uint64:
		return binary.LittleEndian.AppendUint64(nil, k)
	}
	return nil
}

// add grows the filter if it is full.
func (g *Guard[K, V]) add(key K) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.f.Add(keyBytes(key))
	if !errors.Is(err, ErrFull) {
		return err
	}
	switch grown := g.f.Grow(); {
	case grown == nil:
		return g.f.Add(keyBytes(key))
	case errors.Is(grown, ErrInvalid): // there is no bit left to grow by
		return err
	default:
		return grown
	}
}

// Get asks the function, unless the filter is certain that there is no such key.
func (g *Guard[K, V]) Get(ctx context.Context, key K) (V, bool, error) {
	atomic.AddUint64(&g.asked, 1)
	changes := atomic.LoadUint64(&g.changes)
	quiet := atomic.LoadInt64(&g.writing) == 0
	if !g.contains(key) {
		atomic.AddUint64(&g.avoided, 1)
		var none V
		return none, false, nil
	}
	value, found, err := g.lookup(ctx, key)
	if err == nil && !found {
		atomic.AddUint64(&g.wrong, 1)
		if quiet {
			g.report(key, changes)
		}
	}
	return value, found, err
}

// report makes sure that no Put ran since the function was asked: the key may be a member now.
func (g *Guard[K, V]) report(key K, changes uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if atomic.LoadUint64(&g.changes) != changes || atomic.LoadInt64(&g.writing) != 0 {
		return
	}
	if g.f.Report(keyBytes(key)) == nil { // else it may come again, which costs a call
		atomic.AddUint64(&g.reported, 1)
	}
}

// Put adds a key: first to the filter, then by the function write to the store, so that no query
// misses it. If write fails, the key may be in the filter; that costs a call of the function.
func (g *Guard[K, V]) Put(key K, write func() error) error {
	atomic.AddInt64(&g.writing, 1)
	atomic.AddUint64(&g.changes, 1)
	defer atomic.AddInt64(&g.writing, -1)
	if err := g.add(key); err != nil {
		return err
	}
	if write == nil {
		return nil
	}
	return write()
}

// Stats returns the counters.
func (g *Guard[K, V]) Stats() GuardStats {
	return GuardStats{
		Asked: atomic.LoadUint64(&g.asked), Avoided: atomic.LoadUint64(&g.avoided),
		FalsePositives: atomic.LoadUint64(&g.wrong), Reported: atomic.LoadUint64(&g.reported),
	}
}

// Filter is the filter of the guard, for statistics.
func (g *Guard[K, V]) Filter() *Filter { return g.f }

// Close frees the filter. No other call may run.
func (g *Guard[K, V]) Close() error { return g.f.Close() }
