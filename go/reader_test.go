package besom

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Of many sizes and widths; TestVectors has the lengths of keys.
func TestReaderAnswersAsTheLibrary(t *testing.T) {
	for _, kind := range []string{"fuse", "ribbon", "blocked-bloom", "qf", "aqf"} {
		for _, config := range []Config{{FPR: 0.3}, {FPR: 1.0 / 256}, {FPR: 0.001}, {FPR: 1e-6},
			{FPR: 0.005, Hash: "sip"}} {
			for _, n := range []int{1, 100, 50000} {
				if kind == "ribbon" && config.FPR < 1e-5 {
					config.FPR = 1e-4
				}
				config.Kind, config.Seed = kind, make([]byte, 16)
				keys := make([]uint64, n)
				for i := range keys {
					keys[i] = mix(uint64(i))
				}
				f := must[*Filter](t)(Build(config, FromUint64s(keys)))
				r := must[*Reader](t)(NewReader(must[[]byte](t)(f.MarshalBinary())))
				if !r.Native() {
					t.Fatalf("%s is not native", kind)
				}
				for i := 0; i < 2*n+1000; i++ {
					if key := mix(uint64(i)); r.ContainsUint64(key) != f.ContainsUint64(key) {
						t.Fatalf("%s, %+v, %d keys: another answer to key %d", kind, config, n, i)
					}
				}
			}
		}
	}
}

// Counts and values are in further slots and planes.
func TestReaderOfMultisetsAndMaps(t *testing.T) {
	for _, config := range []Config{{FPR: 0.3}, {FPR: 0.02}, {FPR: 1.0 / 128}, {FPR: 1e-4},
		{FPR: 1.0 / 256, ValueBits: 5}} {
		config.Kind, config.Capacity, config.Seed = "aqf", 20000, make([]byte, 16)
		f := must[*Filter](t)(New(config))
		for i := uint64(0); i < 1000; i++ {
			for n := mix(i) % 12; n > 0; n-- {
				check(t, f.AddUint64(mix(i)))
			}
		}
		r := must[*Reader](t)(NewReader(must[[]byte](t)(f.MarshalBinary())))
		if !r.Native() {
			t.Fatalf("%+v is not native", config)
		}
		for i := uint64(0); i < 20000; i++ {
			if r.ContainsUint64(mix(i)) != f.ContainsUint64(mix(i)) {
				t.Fatalf("%+v: another answer to key %d", config, i)
			}
		}
	}
}

func TestReaderOfFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	_, err := OpenReader(path)
	wants(t, err, fs.ErrNotExist)
	check(t, os.WriteFile(path, nil, 0o600))
	_, err = OpenReader(path)
	wants(t, err, ErrIO)
	check(t, os.WriteFile(path, []byte("no filter"), 0o600))
	_, err = OpenReader(path)
	wants(t, err, ErrCorrupt)
	f := must[*Filter](t)(Build(Config{Kind: "fuse"}, FromStrings([]string{"", "a", "b"})))
	for _, reported := range []bool{false, true} {
		if reported {
			check(t, f.Report(absent(f)))
		}
		check(t, f.Save(path))
		r := must[*Reader](t)(OpenReader(path))
		if r.Native() == reported || !r.ContainsString("") || !r.Contains(nil) || !r.ContainsString("a") {
			t.Fatal("reported: ", reported)
		}
		check(t, r.Close())
		if !r.Contains([]byte("x")) {
			t.Fatal("a closed reader cannot be certain of a no")
		}
		check(t, r.Close())
	}
	// A damaged file is an error, whatever Go code would make of it.
	data := must[[]byte](t)(os.ReadFile(path))
	for i := range data {
		data[i] ^= 0x40
		if _, err := NewReader(data); err == nil || !(errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewerVersion)) {
			t.Fatalf("byte %d: %v", i, err)
		}
		data[i] ^= 0x40
	}
}
