package besom

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The files are those of the besom command (BESOM) and of minisign: make test-go.
func TestSignedLists(t *testing.T) {
	command := os.Getenv("BESOM")
	if _, err := exec.LookPath("minisign"); err != nil || command == "" {
		t.Skip("needs minisign, and the besom command in BESOM")
	}
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	read := func(name string) []byte { return must[[]byte](t)(os.ReadFile(filepath.Join(dir, name))) }
	write := func(name, text string) { check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }

	run("minisign", "-G", "-W", "-p", "list.pub", "-s", "list.key")
	write("old.txt", "evil.example\nworse.example\n")
	write("new.txt", "evil.example\nworse.example\nnew.example\n")
	run(command, "build", "old.besom", "--kind", "aqf", "--yes", "old.txt", "--capacity", "100")
	run(command, "build", "new.besom", "--like", "old.besom", "--yes", "new.txt", "--max-change", "any")
	sign := []string{"--key", "list.key", "--name", "blocked", "--expires", "7d"}
	run(command, append([]string{"sign", "old.besom", "--sequence", "1"}, sign...)...)
	run(command, append([]string{"sign", "new.besom", "--sequence", "2"}, sign...)...)
	run(command, "diff", "old.besom", "new.besom", "patch", "--sign", "list.key")

	trust := Trust{PublicKeys: []string{string(read("list.pub"))}, Name: "blocked"}
	data, signature := read("old.besom"), string(read("old.besom.minisig"))
	list := must[*SignedList](t)(OpenSigned(data, signature, trust))
	if !list.Filter.ContainsString("evil.example") || list.Filter.ContainsString("new.example") {
		t.Fatal("another list than the one that was signed")
	}
	patch, patchSignature := read("patch"), string(read("patch.minisig"))
	next := must[*SignedList](t)(list.Patch(patch, patchSignature, trust))
	if !next.Filter.ContainsString("new.example") || next.Sequence <= list.Sequence {
		t.Fatal("the patch made another list")
	}
	if _, err := OpenSigned(read("new.besom"), next.Signature, trust); err != nil {
		t.Fatal("the signature of the patched list: ", err)
	}
	if again := must[*SignedList](t)(next.Patch(patch, patchSignature, trust)); again != next {
		t.Fatal("the patch was applied twice")
	}

	_, err := next.Patch(read("old.besom"), signature, trust)
	wants(t, err, ErrSignature)
	_, err = OpenSigned(patch, patchSignature, trust)
	wants(t, err, ErrSignature)
	damaged := bytes.Replace(data, []byte("aqf"), []byte("aqg"), 1)
	for what, refused := range map[string]func() error{
		"damaged": func() error { _, err := OpenSigned(damaged, signature, trust); return err },
		"expired": func() error {
			late := trust
			late.Now = time.Now().Add(8 * 24 * time.Hour)
			_, err := OpenSigned(data, signature, late)
			return err
		},
		"another name": func() error {
			_, err := OpenSigned(data, signature, Trust{PublicKeys: trust.PublicKeys, Name: "x"})
			return err
		},
		"no name": func() error { _, err := OpenSigned(data, signature, Trust{PublicKeys: trust.PublicKeys}); return err },
		"older": func() error {
			newer := trust
			newer.Sequence = next.Sequence + 1
			_, err := OpenSigned(data, signature, newer)
			return err
		},
		"another key": func() error { _, err := OpenSigned(data, signature, Trust{Name: "blocked"}); return err },
		"another statement": func() error {
			_, err := OpenSigned(data, strings.Replace(signature, "sequence=", "sequence=9", 1), trust)
			return err
		},
		"no signature": func() error { _, err := OpenSigned(data, "", trust); return err },
		"prehashed": func() error {
			_, err := OpenSigned(data, strings.Replace(signature, "\nRW", "\nRU", 1), trust)
			return err
		},
	} {
		if err := refused(); err == nil || !strings.Contains(fmt.Sprint(err), "refused") {
			t.Errorf("%s: %v", what, err)
		} else {
			wants(t, err, ErrSignature)
		}
	}
}
