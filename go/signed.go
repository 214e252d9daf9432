package besom

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Trust says which signatures of lists are accepted (docs/signed.md).
type Trust struct {
	PublicKeys []string  // files of minisign, or their second lines
	Name       string    // of the list; one key may sign several
	Sequence   uint64    // of the current list: older ones are refused
	Now        time.Time // the zero value is the present time
}

// A SignedList is a list whose signature was right, and what is needed for its next patch.
type SignedList struct {
	Filter    *Filter
	Name      string
	Sequence  uint64
	Expires   time.Time
	Signature string // of the list: the text of its .minisig file

	data   []byte
	result string
}

type statement struct {
	text, name, result, base  string
	list                      string // of a patch: the statement of the list that it makes
	sequence                  uint64
	expires                   time.Time
	nextSignature, nextGlobal []byte
	nextGlobalText            string
	key                       ed25519.PublicKey
	number                    []byte
}

var statementForm = regexp.MustCompile(
	`^besom-list-1 name=([A-Za-z0-9._-]{1,64}) sequence=([1-9][0-9]{0,15}) ` +
		`expires=([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z) result=([0-9a-f]{64})` +
		`(?: base=([0-9a-f]{64}) signature=([A-Za-z0-9+/=]{88}) global=([A-Za-z0-9+/=]{88}))?$`)

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrSignature}, args...)...)
}

func fromBase64(text string, n int) []byte {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(data) != n || base64.StdEncoding.EncodeToString(data) != text {
		return nil
	}
	return data
}

func (t *Trust) keyOf(number []byte) (ed25519.PublicKey, error) {
	for _, text := range t.PublicKeys {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		key := fromBase64(strings.TrimSpace(lines[len(lines)-1]), 42)
		if key == nil || key[0] != 'E' || key[1] != 'd' {
			return nil, refused("the public key is not one of minisign")
		}
		if bytes.Equal(key[2:10], number) {
			return ed25519.PublicKey(key[10:]), nil
		}
	}
	return nil, refused("the signature is by another key")
}

// verify does steps 1 to 3 of docs/signed.md.
func (t *Trust) verify(data []byte, signature string) (*statement, error) {
	lines := strings.Split(signature, "\n")
	const untrusted, trusted = "untrusted comment: ", "trusted comment: "
	if len(lines) != 5 || lines[4] != "" || !strings.HasPrefix(lines[0], untrusted) ||
		!strings.HasPrefix(lines[2], trusted) {
		return nil, refused("it is not a file of minisign")
	}
	first, global := fromBase64(lines[1], 74), fromBase64(lines[3], 64)
	if first == nil || global == nil || first[0] != 'E' || first[1] != 'd' {
		return nil, refused("it is not one of minisign without prehashing")
	}
	text := lines[2][len(trusted):]
	if len(text) > 1000 {
		return nil, refused("the statement is too long")
	}
	key, err := t.keyOf(first[2:10])
	if err != nil {
		return nil, err
	}
	if !ed25519.Verify(key, append(append([]byte{}, first[10:]...), text...), global) {
		return nil, refused("the signature of the statement is wrong")
	}
	s, err := parseStatement(text)
	if err != nil {
		return nil, err
	}
	s.key, s.number = key, first[2:10]
	if !ed25519.Verify(key, data, first[10:]) {
		return nil, refused("the signature of the file is wrong")
	}
	now := t.Now
	if now.IsZero() {
		now = time.Now()
	}
	if !s.expires.After(now) {
		return nil, refused("the list has expired (%s)", s.expires.Format(time.RFC3339))
	}
	return s, nil
}

func parseStatement(text string) (*statement, error) {
	m := statementForm.FindStringSubmatch(text)
	if m == nil {
		return nil, refused("the statement has another format")
	}
	sequence, err := strconv.ParseUint(m[2], 10, 64)
	expires, err2 := time.Parse("2006-01-02T15:04:05Z", m[3])
	if err != nil || err2 != nil || sequence > 1<<53-1 {
		return nil, refused("the statement has another format")
	}
	s := &statement{text: text, name: m[1], sequence: sequence, expires: expires, result: m[4],
		base: m[5], list: text}
	if s.base != "" {
		s.nextSignature, s.nextGlobal, s.nextGlobalText = fromBase64(m[6], 64), fromBase64(m[7], 64), m[7]
		s.list = text[:strings.Index(text, " base=")]
		if s.nextSignature == nil || s.nextGlobal == nil {
			return nil, refused("the statement has another format")
		}
	}
	return s, nil
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

func (s *statement) loaded(data []byte, signature string) (*SignedList, error) {
	f, err := LoadBytes(data)
	if err != nil {
		return nil, err
	}
	return &SignedList{Filter: f, Name: s.name, Sequence: s.sequence, Expires: s.expires,
		Signature: signature, data: data, result: s.result}, nil
}

// OpenSigned verifies a whole list before anything of it is parsed. signature is the text of its
// .minisig file. The list keeps data: do not change it.
func OpenSigned(data []byte, signature string, trust Trust) (*SignedList, error) {
	if trust.Name == "" {
		return nil, refused("Trust.Name must be given: one key may sign several lists")
	}
	s, err := trust.verify(data, signature)
	if err != nil {
		return nil, err
	}
	switch {
	case s.base != "":
		return nil, refused("it is of a patch, not of a list")
	case s.name != trust.Name:
		return nil, refused("it is of the list %s, not of %s", s.name, trust.Name)
	case s.sequence < trust.Sequence:
		return nil, refused("the list is older than the current one (%d)", s.sequence)
	case sum(data) != s.result:
		return nil, refused("the list is not the one that was signed")
	}
	return s.loaded(data, signature)
}

// Patch verifies a signed patch, applies it, and verifies the list that it makes. l stays as it is.
// If l is that list already, it is returned.
func (l *SignedList) Patch(patch []byte, signature string, trust Trust) (*SignedList, error) {
	s, err := trust.verify(patch, signature)
	if err != nil {
		return nil, err
	}
	switch {
	case s.base == "":
		return nil, refused("it is of a list, not of a patch")
	case s.name != l.Name || (trust.Name != "" && s.name != trust.Name):
		return nil, refused("it is of the list %s, not of %s", s.name, l.Name)
	case s.sequence < l.Sequence || s.sequence < trust.Sequence:
		return nil, refused("the list is older than the current one (%d)", s.sequence)
	case s.sequence == l.Sequence && s.result != l.result:
		return nil, refused("two lists have the sequence number %d", s.sequence)
	case s.sequence == l.Sequence:
		return l, nil
	case sum(l.data) != s.base:
		return nil, refused("the patch is for another version of the list: fetch the whole list")
	}
	made, err := l.Filter.Patch(patch)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	data, err := made.MarshalBinary()
	if err != nil {
		return nil, err
	}
	stated := append(append([]byte{}, s.nextSignature...), s.list...)
	if sum(data) != s.result || !ed25519.Verify(s.key, stated, s.nextGlobal) ||
		!ed25519.Verify(s.key, data, s.nextSignature) {
		return nil, refused("the patched list is not the one that was signed")
	}
	line := append(append([]byte("Ed"), s.number...), s.nextSignature...)
	return s.loaded(data, "untrusted comment: signature of besom\n"+
		base64.StdEncoding.EncodeToString(line)+"\ntrusted comment: "+s.list+"\n"+s.nextGlobalText+"\n")
}
