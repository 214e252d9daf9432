package besom

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const golden = 0x9e3779b97f4a7c15

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// vectorKey is key number n of tests/vectors/vectors.h: an integer, or bytes.
func vectorKey(n uint64, to []byte) (key []byte, integer uint64, isInteger bool) {
	r := mix((n + 1) * golden)
	if r%4 == 0 {
		return nil, mix(r), true
	}
	length := int((r >> 8) % 301)
	to = to[:0]
	for k := uint64(1); len(to) < length; k++ {
		to = appendUint64(mix(r+k*golden), to)
	}
	return to[:length], 0, false
}

func vectorQuery(i uint64) uint64 {
	if s := mix(i ^ 0x76656374); s%2 == 1 {
		return s / 2 % 3000
	}
	return 3000 + i
}

// TestVectors asks the files of tests/vectors (BESOM_VECTORS) what every language asks.
func TestVectors(t *testing.T) {
	dir := os.Getenv("BESOM_VECTORS")
	if dir == "" {
		t.Skip("needs BESOM_VECTORS")
	}
	queries, column := 1<<20, 1
	if testing.Short() || raceDetector {
		queries, column = 1<<14, 0
	}
	type file struct {
		name    string
		f       *Filter
		r       *Reader
		crc     [2]uint32
		yes     [2]int
		sample  uint64
		answers []byte
	}
	var files []*file
	for _, line := range strings.Split(string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, "expected.txt")))), "\n") {
		if line == "" {
			continue
		}
		v := &file{answers: make([]byte, queries/8)}
		if _, err := fmt.Sscanf(line, "%s %x %d %x %d %x", &v.name, &v.crc[0], &v.yes[0], &v.crc[1], &v.yes[1], &v.sample); err != nil {
			t.Fatal(line, err)
		}
		path := filepath.Join(dir, v.name)
		f, err := Open(path)
		if errors.Is(err, ErrUnknownKind) {
			continue // built without the published systems
		}
		check(t, err)
		v.f, v.r = f, must[*Reader](t)(OpenReader(path))
		native := map[string]bool{"fuse": true, "ribbon": true, "blocked-bloom": true, "qf": true, "aqf": true,
			"aqf-extended": true, "aqf-extended-wide": true}
		if v.r.Native() != native[strings.TrimSuffix(strings.TrimSuffix(v.name, ".besom"), "-sip")] {
			t.Errorf("%s: native is %v", v.name, v.r.Native())
		}
		files = append(files, v)
	}
	if len(files) < 30 {
		t.Fatalf("%d files", len(files))
	}
	space := make([]byte, 0, 320)
	for i := 0; i < queries; i++ {
		key, integer, isInteger := vectorKey(vectorQuery(uint64(i)), space)
		for _, v := range files {
			yes, native := false, false
			if isInteger {
				yes, native = v.f.ContainsUint64(integer), v.r.ContainsUint64(integer)
			} else {
				yes, native = v.f.Contains(key), v.r.Contains(key)
			}
			if yes != native && !t.Failed() {
				t.Errorf("%s: the reader answers query %d with %v", v.name, i, native)
			}
			if yes {
				v.answers[i/8] |= 1 << (i % 8)
			}
		}
	}
	for _, v := range files {
		yes := 0
		for _, b := range v.answers {
			yes += bits.OnesCount8(b)
		}
		if crc := crc32.ChecksumIEEE(v.answers); crc != v.crc[column] || yes != v.yes[column] {
			t.Errorf("%s: yes to %d queries instead of %d; the first 64: %x instead of %016x", v.name, yes,
				v.yes[column], v.answers[:8], v.sample)
		}
	}
}

// TestMapVectors asks the maps of tests/vectors what every language asks.
func TestMapVectors(t *testing.T) {
	dir := os.Getenv("BESOM_VECTORS")
	if dir == "" {
		t.Skip("needs BESOM_VECTORS")
	}
	text := strings.TrimSpace(string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, "maps.txt")))))
	lines := strings.Split(text, "\n")
	if len(lines) < 4 {
		t.Fatalf("%d files", len(lines))
	}
	for _, line := range lines {
		var name string
		var crc, many uint32
		var candidates, more int
		if _, err := fmt.Sscanf(line, "%s %x %d %x %d", &name, &crc, &candidates, &many, &more); err != nil {
			t.Fatal(line, err)
		}
		m := must[*Map](t)(AsMap(must[*Filter](t)(Open(filepath.Join(dir, name)))))
		r := must[*Reader](t)(OpenReader(filepath.Join(dir, name)))
		if r.Native() != (name == "maplet.besom" || name == "maplet-sip.besom") {
			t.Errorf("%s: native is %v", name, r.Native())
		}
		var answers []byte
		var values []uint64
		n := 0
		space := make([]byte, 0, 320)
		for i := uint64(0); i < 1<<14; i++ {
			key, integer, isInteger := vectorKey(vectorQuery(i), space)
			if isInteger {
				key = appendUint64(integer, space[:0])
			}
			values = must[[]uint64](t)(m.Get(key, values[:0]))
			if r.Contains(key) != (len(values) > 0) {
				t.Fatalf("%s: the reader answers query %d wrong", name, i)
			}
			n += len(values)
			answers = append(answers, byte(len(values)))
			for _, value := range values {
				answers = append(answers, byte(value), byte(value>>8))
			}
		}
		if got := crc32.ChecksumIEEE(answers); got != crc || n != candidates {
			t.Errorf("%s: %d candidates instead of %d", name, n, candidates)
		}
	}
}
