package besom_test

import (
	"context"
	"fmt"
	"log"

	"besom"
)

func Example() {
	seen, err := besom.New(besom.Config{Kind: "aqf", Capacity: 1_000_000, FPR: 0.001})
	if err != nil {
		log.Fatal(err)
	}
	defer seen.Close()
	if err := seen.AddString("apple"); err != nil {
		log.Fatal(err)
	}
	if seen.ContainsString("pear") { // after a yes, read your store: it has no pear
		_ = seen.ReportString("pear") // a false positive: not again
	}
	fmt.Println(seen.ContainsString("apple"), seen.ContainsString("pear"))
	// Output: true false
}

func ExampleWrap() {
	table := map[string]string{"ann": "Bonn", "bob": "Rome"}
	slow := func(ctx context.Context, name string) (string, bool, error) {
		city, ok := table[name]
		return city, ok, ctx.Err()
	}
	city, err := besom.Wrap(slow, []string{"ann", "bob"}, besom.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer city.Close()
	where, found, _ := city.Get(context.Background(), "ann")
	fmt.Println(where, found)
	_, found, _ = city.Get(context.Background(), "eve") // answered without a call of slow
	fmt.Println(found, city.Stats().Avoided)
	// Output:
	// Bonn true
	// false 1
}

func ExampleBuild() {
	blocked, err := besom.BuildFrom(besom.Config{Kind: "cascade"}, besom.Input{
		Yes: besom.FromStrings([]string{"evil.example", "worse.example"}),
		No:  besom.FromStrings([]string{"good.example"}),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(blocked.ContainsString("evil.example"), blocked.ContainsString("good.example"))
	// Output: true false
}
