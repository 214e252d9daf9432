package besom

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Set is the local copy of a published set, which `besom sync` keeps up to date (docs/publish.md). It
// stays the version that it was when it was opened: after a sync open it again. Safe for concurrent
// readers; Report must run alone.
type Set struct {
	SetInfo
	shards []*Filter
}

// A SetInfo tells which version of which set it is.
type SetInfo struct {
	Name, Kind string
	Sequence   uint64
	Expires    time.Time // from then on the publisher does not vouch for this version
	Keys       uint64
	Shards     int
}

const (
	maxShards    = 4096
	pointerBytes = 4096
)

// OpenSet maps the shards of the copy in a directory, after it has checked each. It looks at no
// signature: `besom sync` has verified the files. If a sync replaces the copy meanwhile, it is the old
// or the new version.
func OpenSet(dir string) (*Set, error) {
	for before := uint64(0); ; {
		s := &Set{}
		err := s.open(dir)
		if err == nil {
			return s, nil
		}
		_ = s.Close()
		if !errors.Is(err, fs.ErrNotExist) || s.Sequence == before {
			return nil, err
		}
		before = s.Sequence // a sync removes the files of the version before
	}
}

func (s *Set) open(dir string) error {
	size, err := s.readPointer(filepath.Join(dir, "set.minisig"))
	if err != nil {
		return err
	}
	names, err := s.readManifest(filepath.Join(dir, fmt.Sprintf("manifest-%d", s.Sequence)), size)
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		s.shards = append(s.shards, f)
	}
	return nil
}

func setIsCorrupt(path string) error {
	return &Error{Op: "open-set", Status: ErrCorrupt, Detail: path}
}

// readSet reads a file of at most n bytes.
func readSet(path string, n int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", &Error{Op: "open-set", Status: ErrIO, Err: err}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, n+1))
	if err != nil {
		return "", &Error{Op: "open-set", Status: ErrIO, Err: err}
	}
	if int64(len(text)) > n {
		return "", setIsCorrupt(path)
	}
	return string(text), nil
}

// readPointer reads the statement, which is the trusted comment of the signature. It returns the
// length of the manifest.
func (s *Set) readPointer(path string) (int64, error) {
	text, err := readSet(path, pointerBytes)
	if err != nil {
		return 0, err
	}
	_, statement, found := strings.Cut(text, "\ntrusted comment: besom-set-")
	var version, bytes int64
	var date string
	if _, err := fmt.Sscanf(statement, "%d ", &version); !found || err != nil {
		return 0, setIsCorrupt(path)
	}
	if version != 1 {
		return 0, &Error{Op: "open-set", Status: ErrNewerVersion, Detail: path}
	}
	if _, err := fmt.Sscanf(statement, "1 name=%s sequence=%d expires=%s bytes=%d", &s.Name, &s.Sequence, &date,
		&bytes); err != nil || bytes < 0 || bytes > 1<<20 {
		return 0, setIsCorrupt(path)
	}
	if s.Expires, err = time.Parse("2006-01-02T15:04:05Z", date); err != nil {
		return 0, setIsCorrupt(path)
	}
	return bytes, nil
}

// readManifest returns the names of the shards.
func (s *Set) readManifest(path string, size int64) ([]string, error) {
	text, err := readSet(path, size)
	if err != nil {
		return nil, err
	}
	const first = "besom-set-manifest-"
	if strings.HasPrefix(text, first) && !strings.HasPrefix(text, first+"1\n") {
		return nil, &Error{Op: "open-set", Status: ErrNewerVersion, Detail: path}
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 7 || int64(len(text)) != size {
		return nil, setIsCorrupt(path)
	}
	var name string
	var sequence uint64
	var rate float64
	head := strings.Join(lines[:7], "\n")
	if _, err := fmt.Sscanf(head, first+"1\nname %s\nsequence %d\nkind %s\nfpr %g\nshards %d\nkeys %d", &name,
		&sequence, &s.Kind, &rate, &s.Shards, &s.Keys); err != nil || name != s.Name || sequence != s.Sequence ||
		s.Shards < 1 || s.Shards > maxShards || len(lines) < 7+s.Shards {
		return nil, setIsCorrupt(path)
	}
	names := make([]string, s.Shards)
	for i := range names {
		var number int
		var bytes uint64
		_, err := fmt.Sscanf(lines[7+i], "shard %d %s %d ", &number, &names[i], &bytes)
		if err != nil || number != i || !isShardName(names[i]) {
			return nil, setIsCorrupt(path)
		}
	}
	return names, nil
}

// isShardName refuses names that could lead out of the directory.
func isShardName(name string) bool {
	return strings.HasPrefix(name, "shard-") &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == ""
}

// shard is the filter that is asked for a key; nil if the set is closed.
func (s *Set) shard(key []byte) *Filter {
	if len(s.shards) == 0 {
		return &Filter{}
	}
	return s.shards[scaled(hash64(key), uint64(len(s.shards)))]
}

// Contains tells whether the key may be in the set. A no is certain.
func (s *Set) Contains(key []byte) bool { return s.shard(key).Contains(key) }

// ContainsString is Contains for the bytes of a string.
func (s *Set) ContainsString(key string) bool { return s.shard(unsafeBytes(key)).ContainsString(key) }

// Report tells the set that an absent key was answered yes: it is answered no from now on. Reports are
// kept in memory. Report only keys that are absent now: a later version may have them.
func (s *Set) Report(key []byte) error { return s.shard(key).Report(key) }

// Close unmaps the shards. Contains returns true then.
func (s *Set) Close() error {
	for _, f := range s.shards {
		_ = f.Close()
	}
	s.shards = nil
	return nil
}
