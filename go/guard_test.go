package besom

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"
)

func TestGuard(t *testing.T) {
	table := map[string]int{}
	var keys []string
	for i := 0; i < 1000; i++ {
		key := fmt.Sprintf("key %d", i)
		table[key] = i
		keys = append(keys, key)
	}
	calls := 0
	g, err := Wrap(func(_ context.Context, key string) (int, bool, error) {
		calls++
		v, ok := table[key]
		return v, ok, nil
	}, keys, Config{Capacity: 1000, MaxCapacity: 1000, FPR: 0.01, Seed: make([]byte, 16)})
	check(t, err)
	defer g.Close()
	ctx := context.Background()
	for round := 0; round < 3; round++ {
		calls = 0
		for i := 0; i < 5000; i++ {
			v, found, err := g.Get(ctx, fmt.Sprintf("key %d", i))
			if err != nil || found != (i < 1000) || (found && v != i) {
				t.Fatal(i, v, found, err)
			}
		}
		if round == 0 && calls == 1000 {
			t.Fatal("a filter without false positives tests nothing")
		}
		if round > 0 && calls != 1000 {
			t.Fatalf("%d calls for absent keys that were reported", calls-1000)
		}
	}
	s := g.Stats()
	if s.Asked != 15000 || s.FalsePositives == 0 || s.Reported != s.FalsePositives || s.Avoided+s.FalsePositives != 12000 {
		t.Fatalf("%+v", s)
	}
	check(t, g.Put("new", func() error { table["new"] = 7; return nil }))
	if v, found, _ := g.Get(ctx, "new"); !found || v != 7 {
		t.Fatal("a new key is missed")
	}
	broken := errors.New("the store is down")
	wants(t, g.Put("lost", func() error { return broken }), broken)
}

func TestGuardGrows(t *testing.T) {
	g, err := Wrap(func(context.Context, uint64) (bool, bool, error) { return true, true, nil }, nil,
		Config{Capacity: 64, FPR: 0.1})
	check(t, err)
	for i := uint64(0); i < 1024; i++ {
		check(t, g.Put(i, nil))
	}
	for err == nil {
		err = g.Put(rand.Uint64(), nil)
	}
	wants(t, err, ErrFull)
	for i := uint64(0); i < 1024; i++ {
		if _, found, _ := g.Get(context.Background(), i); !found {
			t.Fatal("a member is missed")
		}
	}
	if _, err := Wrap(g.lookup, nil, Config{Kind: "bloom", Capacity: 64}); !errors.Is(err, ErrUnsupported) {
		t.Fatal(err)
	}
}

// While keys are put, reports of the same keys must not deny them.
func TestGuardUnderConcurrentPuts(t *testing.T) {
	var mu sync.Mutex
	store := map[uint64]bool{}
	g, err := Wrap(func(_ context.Context, key uint64) (bool, bool, error) {
		mu.Lock()
		defer mu.Unlock()
		return store[key], store[key], nil
	}, nil, Config{Capacity: 4000, FPR: 0.1})
	check(t, err)
	var group sync.WaitGroup
	stop := make(chan struct{})
	for reader := 0; reader < 3; reader++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for key := uint64(0); ; key = (key + 1) % 4000 {
				select {
				case <-stop:
					return
				default:
					_, _, _ = g.Get(context.Background(), key)
				}
			}
		}()
	}
	for key := uint64(0); key < 4000; key++ {
		check(t, g.Put(key, func() error {
			mu.Lock()
			defer mu.Unlock()
			store[key] = true
			return nil
		}))
		if _, found, _ := g.Get(context.Background(), key); !found {
			t.Error("a key that was put is missed")
		}
	}
	close(stop)
	group.Wait()
	for key := uint64(0); key < 4000; key++ {
		if _, found, _ := g.Get(context.Background(), key); !found {
			t.Fatal("a member is denied")
		}
	}
}
