package besom

import "sync"

// Locked is a filter of any kind that readers and writers may use at the same time: readers share a
// lock. Kinds with Config.Concurrent do without.
type Locked struct {
	mu sync.RWMutex
	f  *Filter
}

// NewLocked takes the filter over: use it by the wrapper only.
func NewLocked(f *Filter) *Locked { return &Locked{f: f} }

// View calls a function that only asks.
func (l *Locked) View(use func(*Filter)) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	use(l.f)
}

// Update calls a function that may change the filter.
func (l *Locked) Update(use func(*Filter) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return use(l.f)
}

// Contains is Filter.Contains.
func (l *Locked) Contains(key []byte) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.f.Contains(key)
}

// ContainsString is Filter.ContainsString.
func (l *Locked) ContainsString(key string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.f.ContainsString(key)
}

// ContainsUint64 is Filter.ContainsUint64.
func (l *Locked) ContainsUint64(key uint64) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.f.ContainsUint64(key)
}

// Add is Filter.Add.
func (l *Locked) Add(key []byte) error {
	return l.Update(func(f *Filter) error { return f.Add(key) })
}

// AddString is Filter.AddString.
func (l *Locked) AddString(key string) error {
	return l.Update(func(f *Filter) error { return f.AddString(key) })
}

// AddUint64 is Filter.AddUint64.
func (l *Locked) AddUint64(key uint64) error {
	return l.Update(func(f *Filter) error { return f.AddUint64(key) })
}

// Remove is Filter.Remove.
func (l *Locked) Remove(key []byte) error {
	return l.Update(func(f *Filter) error { return f.Remove(key) })
}

// RemoveString is Filter.RemoveString.
func (l *Locked) RemoveString(key string) error {
	return l.Update(func(f *Filter) error { return f.RemoveString(key) })
}

// RemoveUint64 is Filter.RemoveUint64.
func (l *Locked) RemoveUint64(key uint64) error {
	return l.Update(func(f *Filter) error { return f.RemoveUint64(key) })
}

// Report is Filter.Report.
func (l *Locked) Report(key []byte) error {
	return l.Update(func(f *Filter) error { return f.Report(key) })
}

// ReportString is Filter.ReportString.
func (l *Locked) ReportString(key string) error {
	return l.Update(func(f *Filter) error { return f.ReportString(key) })
}

// ReportUint64 is Filter.ReportUint64.
func (l *Locked) ReportUint64(key uint64) error {
	return l.Update(func(f *Filter) error { return f.ReportUint64(key) })
}

// Close is Filter.Close.
func (l *Locked) Close() error { return l.Update((*Filter).Close) }
