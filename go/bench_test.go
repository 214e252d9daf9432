package besom

import (
	"fmt"
	"testing"
)

const benchKeys = 1 << 20

func benchFilter(b *testing.B, kind string) *Filter {
	keys := make([]uint64, benchKeys)
	for i := range keys {
		keys[i] = uint64(i)
	}
	f := must[*Filter](b)(Build(Config{Kind: kind}, FromUint64s(keys)))
	b.ResetTimer()
	return f
}

func BenchmarkMap(b *testing.B) {
	m := make(map[uint64]struct{}, benchKeys)
	for i := uint64(0); i < benchKeys; i++ {
		m[i] = struct{}{}
	}
	b.ResetTimer()
	n := 0
	for i := 0; i < b.N; i++ {
		if _, ok := m[uint64(i)*2%(2*benchKeys)]; ok {
			n++
		}
	}
}

func BenchmarkContainsUint64(b *testing.B) {
	for _, kind := range []string{"aqf", "blocked-bloom", "fuse", "ribbon", "qf"} {
		b.Run(kind, func(b *testing.B) {
			f := benchFilter(b, kind)
			for i := 0; i < b.N; i++ {
				f.ContainsUint64(uint64(i) * 2 % (2 * benchKeys))
			}
		})
	}
}

func BenchmarkContainsString(b *testing.B) {
	f := benchFilter(b, "aqf")
	keys := make([]string, 1024)
	for i := range keys {
		keys[i] = fmt.Sprintf("https://example.org/%d", i)
	}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		f.ContainsString(keys[i%len(keys)])
	}
}

// A batch of 1000; ns/op are of one key.
func BenchmarkContainsUint64s(b *testing.B) {
	for _, kind := range []string{"aqf", "blocked-bloom", "fuse"} {
		b.Run(kind, func(b *testing.B) {
			f := benchFilter(b, kind)
			keys, answers := make([]uint64, 1000), make([]bool, 1000)
			for i := 0; i < b.N; i += len(keys) {
				for k := range keys {
					keys[k] = uint64(i+k) * 2 % (2 * benchKeys)
				}
				answers, _ = f.ContainsUint64s(keys, answers)
			}
		})
	}
}

func BenchmarkReader(b *testing.B) {
	for _, kind := range []string{"fuse", "ribbon", "blocked-bloom", "qf", "aqf"} {
		b.Run(kind, func(b *testing.B) {
			f := benchFilter(b, kind)
			r := must[*Reader](b)(NewReader(must[[]byte](b)(f.MarshalBinary())))
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				r.ContainsUint64(uint64(i) * 2 % (2 * benchKeys))
			}
		})
	}
}
