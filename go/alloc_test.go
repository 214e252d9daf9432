//go:build !race

package besom

import "testing"

const raceDetector = false

// The race detector allocates, too.
func TestCallsDoNotAllocate(t *testing.T) {
	f := must[*Filter](t)(New(Config{Capacity: 100000}))
	key, text := []byte("some key of a request"), "another one"
	numbers, answers := make([]uint64, 100), make([]bool, 100)
	for name, call := range map[string]func(){
		"Contains":       func() { f.Contains(key) },
		"ContainsString": func() { f.ContainsString(text) },
		"ContainsUint64": func() { f.ContainsUint64(7) },
		"Add":            func() { _ = f.Add(key) },
		"AddString":      func() { _ = f.AddString(text) },
		"Remove":         func() { _ = f.Add(key); _ = f.Remove(key) },
		"Uint64s":        func() { _, _ = f.ContainsUint64s(numbers, answers) },
	} {
		if n := testing.AllocsPerRun(100, call); n > 0.5 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
