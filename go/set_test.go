package besom

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The answers of `besom query` to the same copy, for keys of all lengths.
func TestSet(t *testing.T) {
	command := os.Getenv("BESOM")
	if _, err := exec.LookPath("minisign"); err != nil || command == "" {
		t.Skip("needs minisign, and the besom command in BESOM")
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := c.Output()
		if err != nil && c.ProcessState.ExitCode() != 1 {
			t.Fatalf("%s %v: %v", name, args, err)
		}
		return string(out)
	}
	key := func(i int) string {
		text := fmt.Sprintf("%x", mix(uint64(i)))
		return strings.Repeat(text, 1+i%40)[:1+i%520%(len(text)*(1+i%40))]
	}
	var members, asked bytes.Buffer
	for i := 0; i < 40000; i++ {
		if i < 20000 {
			fmt.Fprintln(&members, key(i))
		}
		fmt.Fprintln(&asked, key(i))
	}
	check(t, os.WriteFile(filepath.Join(dir, "members"), members.Bytes(), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "asked"), asked.Bytes(), 0o600))
	run("minisign", "-G", "-W", "-p", "set.pub", "-s", "set.key")
	for _, kind := range []string{"updated", "aqf"} {
		published := filepath.Join(dir, kind)
		run(command, "publish", published, "--key", "set.key", "--name", "packages", "--yes", "members",
			"--kind", kind, "--shards", "16")
		yes := map[string]bool{}
		for _, line := range strings.Fields(run(command, "query", published, "asked")) {
			yes[line] = true
		}
		s := must[*Set](t)(OpenSet(published))
		if s.Name != "packages" || s.Kind != kind || s.Shards != 16 || s.Sequence < 1 || s.Keys < 10000 ||
			s.Expires.IsZero() {
			t.Errorf("%+v", s.SetInfo)
		}
		wrong := ""
		for i := 0; i < 40000; i++ {
			if s.ContainsString(key(i)) != yes[key(i)] || s.Contains([]byte(key(i))) != yes[key(i)] {
				t.Fatalf("%s: another answer to key %d, %s", kind, i, key(i))
			}
			if i >= 20000 && yes[key(i)] && len(key(i)) > 8 {
				wrong = key(i)
			}
		}
		if wrong == "" {
			t.Fatal("no false positive")
		}
		check(t, s.Report([]byte(wrong)))
		if s.ContainsString(wrong) {
			t.Error("a reported key is answered yes")
		}
		check(t, s.Close())
		if !s.ContainsString(wrong) {
			t.Error("a closed set cannot be certain of a no")
		}
	}
}

func TestSetThatIsNone(t *testing.T) {
	dir := t.TempDir()
	_, err := OpenSet(dir)
	wants(t, err, fs.ErrNotExist)
	write := func(name, text string) { check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	manifest := "besom-set-manifest-1\nname a\nsequence 3\nkind aqf\nfpr 0.0039\nshards 1\nkeys 1\nshard 0 %s 10 00\n"
	pointer := "untrusted comment: x\nRW\ntrusted comment: besom-set-%s name=a sequence=3 expires=2030-01-01T00:00:00Z bytes=%d result=00\n"
	shard := func(name string) string { return fmt.Sprintf(manifest, name) }
	for _, c := range []struct {
		version, manifest string
		bytes             int
		want              error
	}{
		{"1", shard("shard-0-3"), 0, fs.ErrNotExist}, // the manifest is there, its shard is not
		{"2", shard("shard-0-3"), 0, ErrNewerVersion},
		{"x", shard("shard-0-3"), 0, ErrCorrupt},
		{"1", shard("../shard-0-3"), 0, ErrCorrupt},
		{"1", shard("shard-../../0"), 0, ErrCorrupt},
		{"1", shard("shard-0-3"), 1, ErrCorrupt},
		{"1", shard("shard-0-3"), -1, ErrCorrupt},
		{"1", strings.Replace(shard("shard-0-3"), "manifest-1", "manifest-2", 1), 0, ErrNewerVersion},
		{"1", strings.Replace(shard("shard-0-3"), "sequence 3", "sequence 4", 1), 0, ErrCorrupt},
		{"1", strings.Replace(shard("shard-0-3"), "shards 1", "shards 5000", 1), 0, ErrCorrupt},
		{"1", strings.Replace(shard("shard-0-3"), "shards 1", "shards 2", 1), 0, ErrCorrupt},
		{"1", "", 0, ErrCorrupt},
	} {
		write("manifest-3", c.manifest)
		write("set.minisig", fmt.Sprintf(pointer, c.version, len(c.manifest)+c.bytes))
		_, err := OpenSet(dir)
		wants(t, err, c.want)
	}
	write("set.minisig", strings.Repeat("x", 5000))
	_, err = OpenSet(dir)
	wants(t, err, ErrCorrupt)
	write("manifest-3", shard("shard-0-3"))
	write("set.minisig", fmt.Sprintf(pointer, "1", len(shard("shard-0-3"))))
	write("shard-0-3", "no filter")
	_, err = OpenSet(dir)
	wants(t, err, ErrCorrupt)
}
