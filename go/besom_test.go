package besom

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(x T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t testing.TB, err error, status error) {
	t.Helper()
	if !errors.Is(err, status) {
		t.Fatalf("got %v, want %v", err, status)
	}
}

func keyOf(i int) []byte { return []byte(fmt.Sprintf("key %d", i)) }

// absent is a false positive of f.
func absent(f *Filter) []byte {
	for i := 0; ; i++ {
		if key := []byte(fmt.Sprintf("absent %d", i)); f.Contains(key) {
			return key
		}
	}
}

func TestEveryKind(t *testing.T) {
	const n = 1000
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = keyOf(i)
	}
	for _, kind := range Kinds() {
		config := Config{Kind: kind, Capacity: n, FPR: 0.01, Seed: bytes.Repeat([]byte{7}, 16)}
		f, err := New(config)
		if errors.Is(err, ErrUnsupported) {
			f, err = BuildFrom(config, Input{Yes: FromSlice(keys), No: noFor(kind)})
		} else if err == nil {
			_, err = f.AddMany(keys)
		}
		if err != nil {
			if errors.Is(err, ErrNeedsStore) { // a published system that works in front of a store only
				continue
			}
			t.Fatalf("%s: %v", kind, err)
		}
		for _, key := range keys {
			if !f.Contains(key) || !f.ContainsString(string(key)) {
				t.Fatalf("%s: a member is answered no", kind)
			}
		}
		answers, err := f.ContainsMany(keys, nil)
		check(t, err)
		for _, yes := range answers {
			if !yes {
				t.Fatalf("%s: a member is answered no in a batch", kind)
			}
		}
		key := absent(f)
		if err := f.Report(key); err != nil || f.Contains(key) {
			t.Fatalf("%s: a report is %v, and the answer %v", kind, err, f.Contains(key))
		}
		check(t, f.Validate())
		again := must[*Filter](t)(LoadBytes(must[[]byte](t)(f.MarshalBinary())))
		if again.Contains(key) || !again.Contains(keys[0]) {
			t.Fatalf("%s: another answer after loading", kind)
		}
		check(t, again.Close())
		check(t, f.Close())
	}
}

func noFor(kind string) Keys {
	switch kind {
	case "cascade", "grouped", "updated", "yesno", "learned", "stacked":
		return FromStrings([]string{"no 1", "no 2"})
	}
	return nil
}

func TestKeysAndEmptyOnes(t *testing.T) {
	f := must[*Filter](t)(New(Config{Capacity: 1000, FPR: 0.0001}))
	check(t, f.Add(nil))
	if !f.Contains([]byte{}) || !f.ContainsString("") {
		t.Fatal("the empty key is one key")
	}
	check(t, f.AddString("pear"))
	check(t, f.AddUint64(0x0807060504030201))
	if !f.Contains([]byte("pear")) || !f.Contains([]byte{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Fatal("a string or an integer is another key than its bytes")
	}
	check(t, f.Remove([]byte("pear")))
	check(t, f.RemoveString(""))
	check(t, f.RemoveUint64(0x0807060504030201))
	if s := must[Stats](t)(f.Stats()); s.Keys != 0 || s.Kind != "aqf" {
		t.Fatalf("%+v", s)
	}
	wants(t, f.RemoveString("pear"), ErrNotFound)
	answers, err := f.ContainsMany(nil, nil)
	check(t, err)
	if len(answers) != 0 {
		t.Fatal("answers to no question")
	}
	if n, err := f.AddMany([][]byte{nil, {}, []byte("a")}); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	many := make([]uint64, 1000)
	for i := range many {
		many[i] = uint64(i)
	}
	if n, err := f.AddUint64s(many[:500]); n != 500 || err != nil {
		t.Fatal(n, err)
	}
	answers, err = f.ContainsUint64s(many, answers)
	check(t, err)
	for i, yes := range answers {
		if yes != f.ContainsUint64(many[i]) || (i < 500 && !yes) {
			t.Fatal("a batch answers otherwise")
		}
	}
}

func TestErrors(t *testing.T) {
	_, err := New(Config{Kind: "bloo", Capacity: 10})
	wants(t, err, ErrUnknownKind)
	_, err = New(Config{FPR: 2, Capacity: 10})
	wants(t, err, ErrInvalid)
	if !strings.Contains(err.Error(), "fpr") {
		t.Fatal("which field is wrong? ", err)
	}
	_, err = New(Config{Capacity: 10, Seed: []byte{1}})
	wants(t, err, ErrInvalid)
	_, err = New(Config{Capacity: 10, Options: "color=red"})
	wants(t, err, ErrBadOption)
	_, err = New(Config{Kind: "fuse", Capacity: 10})
	wants(t, err, ErrUnsupported)
	_, err = Load(filepath.Join(t.TempDir(), "none"))
	wants(t, err, ErrIO)
	wants(t, err, fs.ErrNotExist)
	_, err = LoadBytes([]byte("no filter"))
	wants(t, err, ErrCorrupt)
	_, err = LoadBytes(nil)
	wants(t, err, ErrCorrupt)
	f := must[*Filter](t)(New(Config{Capacity: 10}))
	err = nil
	for key := uint64(0); err == nil && key < 10000; key++ {
		err = f.AddUint64(key)
	}
	wants(t, err, ErrFull)
	var e *Error
	if !errors.As(err, &e) || e.Op != "add" || e.Status != ErrFull {
		t.Fatal(err)
	}
	check(t, f.Grow())
	check(t, f.AddUint64(1<<40))
	other := must[*Filter](t)(New(Config{Capacity: 1000}))
	_, err = Merge(f, other)
	wants(t, err, ErrIncompatible)
}

func TestClosed(t *testing.T) {
	f := must[*Filter](t)(New(Config{Capacity: 10}))
	check(t, f.Close())
	check(t, f.Close())
	if !f.Contains([]byte("a")) || !f.ContainsUint64(1) {
		t.Fatal("a closed filter cannot be certain of a no")
	}
	wants(t, f.Add(nil), ErrClosed)
	wants(t, f.Report(nil), ErrClosed)
	wants(t, f.Resize(64), ErrClosed)
	wants(t, f.Save(filepath.Join(t.TempDir(), "x")), ErrClosed)
	_, err := f.WriteTo(io.Discard)
	wants(t, err, ErrClosed)
	_, err = f.Stats()
	wants(t, err, ErrClosed)
	_, err = Merge(f, f)
	wants(t, err, ErrClosed)
	_, err = f.ContainsMany([][]byte{nil}, nil)
	wants(t, err, ErrClosed)
	_, err = BuildFrom(Config{}, Input{Yes: FromStrings([]string{"a"}), Like: f})
	wants(t, err, ErrClosed)
}

func TestFiles(t *testing.T) {
	f := must[*Filter](t)(New(Config{Capacity: 1000, FPR: 0.01}))
	for i := 0; i < 1000; i++ {
		check(t, f.Add(keyOf(i)))
	}
	path := filepath.Join(t.TempDir(), "f.besom")
	check(t, f.Save(path))
	for _, open := range []func(string) (*Filter, error){Load, Open} {
		g := must[*Filter](t)(open(path))
		for i := 0; i < 1000; i++ {
			if !g.Contains(keyOf(i)) {
				t.Fatal("a member is answered no")
			}
		}
		key := absent(g)
		check(t, g.Report(key))
		if g.Contains(key) {
			t.Fatal("a report is lost")
		}
		check(t, g.Close())
	}
	mapped := must[*Filter](t)(Open(path))
	wants(t, mapped.Add(nil), ErrReadOnly)

	var buffer bytes.Buffer
	n, err := f.WriteTo(&buffer)
	data := must[[]byte](t)(os.ReadFile(path))
	if err != nil || n != int64(buffer.Len()) || !bytes.Equal(buffer.Bytes(), data) {
		t.Fatal("WriteTo and Save differ", err)
	}
	var g Filter
	m, err := g.ReadFrom(&buffer)
	if err != nil || m != n || !g.Contains(keyOf(5)) {
		t.Fatal(m, err)
	}
	_, err = g.ReadFrom(strings.NewReader("damaged"))
	wants(t, err, ErrCorrupt)
	if !g.Contains(keyOf(5)) {
		t.Fatal("a failure changed the filter")
	}
	check(t, g.UnmarshalBinary(data))

	broken := errors.New("the pipe is broken")
	_, err = f.WriteTo(writer(func([]byte) (int, error) { return 0, broken }))
	wants(t, err, broken)
	wants(t, err, ErrIO)
	_, err = f.WriteTo(writer(func([]byte) (int, error) { return 0, nil }))
	wants(t, err, io.ErrShortWrite)
	_, err = g.ReadFrom(io.MultiReader(bytes.NewReader(data), reader(func([]byte) (int, error) { return 0, broken })))
	wants(t, err, broken)
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

func panics(t *testing.T, with string, call func()) {
	t.Helper()
	defer func() {
		if p := recover(); p != with {
			t.Fatalf("recovered %v, want %q", p, with)
		}
	}()
	call()
	t.Fatal("no panic")
}

func TestPanicsOfCallbacks(t *testing.T) {
	f := must[*Filter](t)(New(Config{Capacity: 10}))
	panics(t, "in Write", func() {
		_, _ = f.WriteTo(writer(func([]byte) (int, error) { panic("in Write") }))
	})
	panics(t, "in Next", func() {
		_, _ = Build(Config{Kind: "fuse"}, &failing{panics: true})
	})
	panics(t, "in Progress", func() {
		_, _ = BuildFrom(Config{Kind: "fuse"}, Input{Yes: FromUint64s(make([]uint64, 100000)),
			Progress: func(uint64, uint64) bool { panic("in Progress") }})
	})
	broken := errors.New("no more")
	_, err := Build(Config{Kind: "fuse"}, &failing{err: broken})
	wants(t, err, broken)
	_, err = Build(Config{Kind: "fuse"}, FromFunc(func() ([]byte, error) { return nil, broken }))
	wants(t, err, broken)
	_, err = BuildFrom(Config{Kind: "fuse"}, Input{Yes: FromUint64s(make([]uint64, 100000)),
		Progress: func(uint64, uint64) bool { return false }})
	wants(t, err, ErrCancelled)
}

type failing struct {
	panics bool
	err    error
}

func (f *failing) Next() ([]byte, error) {
	if f.panics {
		panic("in Next")
	}
	return nil, f.err
}

func (f *failing) Rewind() error { return nil }

func TestBuild(t *testing.T) {
	long := bytes.Repeat([]byte("long "), 50000)
	keys := [][]byte{nil, []byte("a"), long, []byte("b")}
	for i := 0; i < 5000; i++ {
		keys = append(keys, keyOf(i))
	}
	channel := make(chan []byte)
	go func() {
		for _, key := range keys {
			channel <- key
		}
		close(channel)
	}()
	at := 0
	next := func() ([]byte, error) {
		if at == len(keys) {
			return nil, io.EOF
		}
		at++
		return keys[at-1], nil
	}
	for _, stream := range []Keys{FromSlice(keys), FromChan(channel), FromFunc(next)} {
		f := must[*Filter](t)(Build(Config{Kind: "ribbon"}, stream))
		for _, key := range keys {
			if !f.Contains(key) {
				t.Fatal("a member is answered no")
			}
		}
	}
	exact := must[*Filter](t)(BuildFrom(Config{Kind: "cascade"}, Input{Yes: FromStrings([]string{"evil", "worse"}),
		No: FromStrings([]string{"good", "fine", "nice"})}))
	for key, yes := range map[string]bool{"evil": true, "worse": true, "good": false, "fine": false, "nice": false} {
		if exact.ContainsString(key) != yes {
			t.Fatal(key)
		}
	}
	f := must[*Filter](t)(Build(Config{Kind: "aqf"}, FromSlice(keys)))
	check(t, f.Rekey(FromSlice(keys)))
	if !f.Contains(long) {
		t.Fatal("a member is lost")
	}
}

func TestMerge(t *testing.T) {
	a := must[*Filter](t)(New(Config{Capacity: 100}))
	b := must[*Filter](t)(a.Empty())
	check(t, a.AddString("a"))
	check(t, b.AddString("b"))
	check(t, a.Merge(b))
	if !a.ContainsString("a") || !a.ContainsString("b") || !b.ContainsString("b") {
		t.Fatal("a member is lost")
	}
}

func TestDiffAndPatch(t *testing.T) {
	yes := []string{"evil.example", "worse.example"}
	old := must[*Filter](t)(Build(Config{Kind: "aqf", Capacity: 100}, FromStrings(yes)))
	fresh := must[*Filter](t)(BuildFrom(Config{}, Input{Yes: FromStrings(append(yes, "new.example")), Like: old}))
	var patch bytes.Buffer
	check(t, old.Diff(fresh, &patch))
	made := must[*Filter](t)(old.Patch(patch.Bytes()))
	if !made.ContainsString("new.example") {
		t.Fatal("the patched list lacks a key")
	}
	_, err := made.Patch(patch.Bytes())
	wants(t, err, ErrIncompatible)
	_, err = made.Patch(nil)
	wants(t, err, ErrCorrupt)
}

func TestConcurrent(t *testing.T) {
	for _, config := range []Config{{Capacity: 20000, Concurrent: true}, {Kind: "blocked-bloom", Capacity: 20000}} {
		f := must[*Filter](t)(New(config))
		var l *Locked
		add, has := f.AddUint64, f.ContainsUint64
		if !config.Concurrent {
			l = NewLocked(f)
			add, has = l.AddUint64, l.ContainsUint64
		}
		var group sync.WaitGroup
		for worker := uint64(0); worker < 4; worker++ {
			group.Add(1)
			go func(worker uint64) {
				defer group.Done()
				for i := uint64(0); i < 2000; i++ {
					if err := add(worker<<32 | i); err != nil {
						t.Error(err)
					}
					if !has(worker<<32 | i) {
						t.Error("a key that was added is answered no")
					}
				}
			}(worker)
		}
		group.Wait()
	}
}

func TestLockedTakesKeysOfEveryForm(t *testing.T) {
	f := must[*Filter](t)(New(Config{Kind: "bloom", Capacity: 1000}))
	l := NewLocked(must[*Filter](t)(New(Config{Capacity: 1000, FPR: 1.0 / 16})))
	check(t, l.AddString("pear"))
	check(t, l.AddUint64(7))
	check(t, l.RemoveString("pear"))
	check(t, l.RemoveUint64(7))
	wants(t, l.RemoveUint64(7), ErrNotFound)
	wants(t, NewLocked(f).RemoveString("pear"), ErrUnsupported)
	for i := uint64(0); i < 900; i++ {
		check(t, l.AddUint64(i))
	}
	text, number := 0, uint64(1000)
	for ; !l.ContainsString(fmt.Sprint("absent ", text)); text++ {
	}
	for ; !l.ContainsUint64(number); number++ {
	}
	check(t, l.ReportString(fmt.Sprint("absent ", text)))
	check(t, l.ReportUint64(number))
	if l.ContainsString(fmt.Sprint("absent ", text)) || l.ContainsUint64(number) {
		t.Error("a reported key is answered yes")
	}
	check(t, l.Close())
	wants(t, l.ReportUint64(1), ErrClosed)
}

func TestFinalizer(t *testing.T) {
	for i := 0; i < 200; i++ {
		f := must[*Filter](t)(New(Config{Capacity: 100000}))
		check(t, f.AddUint64(uint64(i)))
		if i%50 == 0 {
			runtime.GC()
		}
		if !f.ContainsUint64(uint64(i)) {
			t.Fatal("the filter was freed too early")
		}
	}
}

func TestMap(t *testing.T) {
	m := must[*Map](t)(NewMap(Config{Capacity: 1000, ValueBits: 16, FPR: 0.001}))
	for v := uint64(0); v < 20; v++ {
		check(t, m.Put([]byte("key"), v))
	}
	values := must[[]uint64](t)(m.Get([]byte("key"), nil))
	if len(values) != 20 || values[0] != 0 || values[19] != 19 {
		t.Fatal(values)
	}
	check(t, m.Remove([]byte("key"), 7))
	check(t, m.Report([]byte("key"), 9))
	values = must[[]uint64](t)(m.Get([]byte("key"), values[:0]))
	if len(values) != 18 {
		t.Fatal(values)
	}
	again := must[*Map](t)(AsMap(must[*Filter](t)(LoadBytes(must[[]byte](t)(m.Filter().MarshalBinary())))))
	if n := len(must[[]uint64](t)(again.Get([]byte("key"), nil))); n != 18 {
		t.Fatal(n)
	}
	wants(t, m.Put(nil, 1<<16), ErrInvalid)
	_, err := AsMap(must[*Filter](t)(New(Config{Capacity: 10})))
	wants(t, err, ErrUnsupported)
	check(t, m.Close())
	wants(t, m.Put(nil, 0), ErrClosed)
}

func FuzzLoadBytes(f *testing.F) {
	for _, kind := range []string{"aqf", "qf", "blocked-bloom"} {
		x := must[*Filter](f)(New(Config{Kind: kind, Capacity: 100, Seed: make([]byte, 16)}))
		check(f, x.AddString("a"))
		f.Add(must[[]byte](f)(x.MarshalBinary()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := LoadBytes(data)
		if err != nil {
			return
		}
		defer x.Close()
		x.ContainsString("a")
		check(t, x.Validate())
	})
}

func FuzzKeys(f *testing.F) {
	x := must[*Filter](f)(New(Config{Kind: "aqf", Capacity: 1 << 20, Set: true}))
	f.Add([]byte(nil))
	f.Add([]byte("a key"))
	f.Fuzz(func(t *testing.T, key []byte) {
		if err := x.Add(key); err != nil {
			t.Skip(err)
		}
		if !x.Contains(key) || !x.ContainsString(string(key)) {
			t.Fatal("a member is answered no")
		}
	})
}
