package besom

import (
	"encoding/binary"
	"io"
	"math/bits"
	"os"
	"syscall"
)

// A Reader asks a saved filter without calls of C, if it is of a kind and form that Go code here
// knows: fuse, ribbon, blocked-bloom, qf and aqf (also a map) without reports. Otherwise it is a Filter
// inside. It is written from docs/format.md (What a reader needs). Safe for concurrent use.
type Reader struct {
	h     *hasher
	table table
	f     *Filter // if table is nil
	data  []byte  // mapped
}

// A table is the bits of a filter. Its code does not trust the bits: a damaged file gives a wrong
// answer, or a panic that Go's bounds checks raise.
type table interface{ has(d digest) bool }

// OpenReader maps a saved filter, after the library has checked every invariant of the file. Nobody
// may truncate or change the file meanwhile; replacing it by rename is safe.
func OpenReader(path string) (*Reader, error) {
	data, err := mapped(path)
	if err != nil {
		return nil, &Error{Op: "open", Status: ErrIO, Err: err}
	}
	f, err := LoadBytes(data)
	if err != nil {
		_ = unmap(data)
		return nil, err
	}
	r := &Reader{data: data}
	r.parse(data)
	if r.table != nil {
		return r, f.Close()
	}
	_ = unmap(data)
	r.data, r.f = nil, f
	return r, nil
}

// NewReader is OpenReader for bytes in memory. It keeps data: do not change it.
func NewReader(data []byte) (*Reader, error) {
	f, err := LoadBytes(data)
	if err != nil {
		return nil, err
	}
	r := &Reader{}
	r.parse(data)
	if r.table != nil {
		return r, f.Close()
	}
	r.f = f
	return r, nil
}

func mapped(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmap(data []byte) error {
	if data == nil {
		return nil
	}
	return syscall.Munmap(data)
}

// Native tells whether the reader works without calls of C.
func (r *Reader) Native() bool { return r.table != nil }

// Contains tells whether the key may be a member. A no is certain.
func (r *Reader) Contains(key []byte) bool {
	if r.table == nil {
		return r.f.Contains(key)
	}
	return r.table.has(r.h.bytes(key))
}

// ContainsString is Contains for the bytes of a string.
func (r *Reader) ContainsString(key string) bool {
	if r.table == nil {
		return r.f.ContainsString(key)
	}
	return r.table.has(r.h.bytes(unsafeBytes(key)))
}

// ContainsUint64 is Contains for the 8 little-endian bytes of key.
func (r *Reader) ContainsUint64(key uint64) bool {
	if r.table == nil {
		return r.f.ContainsUint64(key)
	}
	return r.table.has(r.h.uint64(key))
}

// Close unmaps the file. No other call may run, or follow.
func (r *Reader) Close() error {
	r.table = nil
	if r.f == nil {
		r.f = &Filter{}
	}
	err := unmap(r.data)
	r.data = nil
	_ = r.f.Close()
	return err
}

// parse knows files of a kind above with the sections PARM and BITS, and an empty MARK: others have
// reports.
func (r *Reader) parse(data []byte) {
	if len(data) < 64+2*32 || r64(data, 40) != 0 {
		return // a list of domains
	}
	section := func(i int, tag string) []byte {
		row := data[64+32*i:]
		if string(row[:4]) != tag {
			return nil
		}
		at, n := r64(row, 8), r64(row, 16)
		return data[at : at+n]
	}
	sections := binary.LittleEndian.Uint32(data[12:])
	if sections == 3 && len(data) >= 64+3*32 {
		if mark := section(2, "MARK"); mark == nil || len(mark) > 0 {
			return
		}
	} else if sections != 2 {
		return
	}
	p, b := section(0, "PARM"), section(1, "BITS")
	if p == nil || b == nil || r32(p, 4)&^3 != 0 {
		return
	}
	kind := data[16:32]
	for n, c := range kind {
		if c == 0 {
			kind = kind[:n]
			break
		}
	}
	switch string(kind) {
	case "fuse":
		r.table = newFuse(p, b)
	case "ribbon":
		r.table = newRibbon(p, b)
	case "blocked-bloom":
		r.table = &blocked{bits: b, lines: r64(p, 40), perKey: uint(r64(p, 48))}
	case "qf":
		r.table = newQF(p, b)
	case "aqf":
		r.table = newAQF(p, b)
	}
	if r.table != nil {
		r.h = newHasher(binary.LittleEndian.Uint32(p), p[8:24])
	}
}

func finalize(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func scaled(x, n uint64) uint64 {
	hi, _ := bits.Mul64(x, n)
	return hi
}

// ------------------------------------------------------------------ fuse

type fuse struct {
	bits           []byte
	segment, cells uint64
	seed           uint64
	width          uint
	mask           uint64
}

func newFuse(p, b []byte) table {
	x := &fuse{bits: b, segment: r64(p, 40), seed: r64(p, 56), width: uint(r64(p, 64))}
	x.cells = r64(p, 48) * x.segment
	x.mask = 1<<x.width - 1
	return x
}

func (x *fuse) cell(i uint64) uint64 {
	bit := i * uint64(x.width)
	return binary.LittleEndian.Uint64(x.bits[bit/8:]) >> (bit % 8)
}

func (x *fuse) has(d digest) bool {
	v := d.hi
	for i := x.seed; i > 0; i-- {
		v = finalize(v)
	}
	a := scaled(v, x.cells)
	b := (a + x.segment) ^ v>>18&(x.segment-1)
	c := (a + 2*x.segment) ^ v&(x.segment-1)
	return (x.cell(a)^x.cell(b)^x.cell(c)^v^v>>32)&x.mask == 0
}

// ------------------------------------------------------------------ ribbon

type tier struct{ words, blocks, narrow, buckets, rehashes uint64 }

type ribbon struct {
	bits, thresholds []byte
	columns          uint64
	tiers            []tier
}

func newRibbon(p, b []byte) table {
	x := &ribbon{bits: b, columns: r64(p, 40), tiers: make([]tier, r64(p, 48))}
	var words, buckets uint64
	for i := range x.tiers {
		t := &x.tiers[i]
		*t = tier{words: words, blocks: r64(p, 56+24*i), narrow: r64(p, 64+24*i), rehashes: r64(p, 72+24*i), buckets: buckets}
		words += t.blocks*x.columns - t.narrow
		buckets += 64*(t.blocks-1)/128 + 1
	}
	x.thresholds = b[8*words:]
	return x
}

var bumped = [4]uint64{0, 16, 44, 128}

func (x *ribbon) has(d digest) bool {
	for i := range x.tiers {
		t := &x.tiers[i]
		for n := t.rehashes; n > 0; n-- {
			c := d.lo | 1
			d.hi = finalize(d.hi + c*0x9e3779b97f4a7c15)
			d.lo = finalize(c + d.hi)
		}
		start := scaled(d.hi, 64*(t.blocks-1)+1)
		bucket := t.buckets + start/128
		threshold := bumped[x.thresholds[bucket/4]>>(bucket%4*2)&3]
		if start%128 >= threshold || i == len(x.tiers)-1 {
			return x.match(t, start, d)
		}
	}
	return false
}

// block gives the number of the first word of a block, and its columns.
func (x *ribbon) block(t *tier, b uint64) (first, columns uint64) {
	if b < t.narrow {
		return t.words + b*(x.columns-1), x.columns - 1
	}
	return t.words + b*x.columns - t.narrow, x.columns
}

func (x *ribbon) match(t *tier, start uint64, d digest) bool {
	first, columns := x.block(t, start/64)
	next, _ := x.block(t, start/64+1)
	shift := start % 64
	for j := uint64(0); j < columns; j++ {
		slots := r64(x.bits, int(8*(first+j))) >> shift
		if shift > 0 {
			slots |= r64(x.bits, int(8*(next+j))) << (64 - shift)
		}
		if uint64(bits.OnesCount64(slots&(d.lo|1)))&1 != d.hi>>j&1 {
			return false
		}
	}
	return true
}

// ------------------------------------------------------------------ blocked-bloom

type blocked struct {
	bits   []byte
	lines  uint64
	perKey uint
}

func (x *blocked) has(d digest) bool {
	line, x0 := bits.Mul64(d.hi, x.lines)
	x1 := d.lo
	words := x.bits[64*line : 64*line+64]
	for ply := uint(0); ply < x.perKey/8; ply++ {
		for w := uint(0); w < 8; w++ {
			shift := 8 * w
			if w >= 4 {
				shift += 2
			}
			if r64(words, int(8*w))>>(63-x0>>shift&63)&1 == 0 {
				return false
			}
		}
		hi, lo := bits.Mul64(x0+x1, 0xd1342543de82ef95)
		x0, x1 = x1, lo^hi
	}
	if x.perKey%8 != 0 {
		for p := uint(0); p < 4; p++ {
			y := x0 >> (36 + 7*p) & 127
			if r64(words, int(16*p+8*uint(y>>6)))>>(63-y&63)&1 == 0 {
				return false
			}
		}
	}
	return true
}

// ------------------------------------------------------------------ qf

type qf struct {
	bits   []byte
	slots  uint64
	width  uint
	stride uint64
}

// quotientTable is the table of a quotient filter with a start word and values; nil: it has codes.
func quotientTable(p, b []byte) *qf {
	metadata := r32(p, 60)
	if metadata != 0 && metadata != 5 { // 5: values are behind all blocks
		return nil
	}
	x := &qf{bits: b, slots: r64(p, 40), width: uint(r32(p, 48))}
	x.stride = 17 + 8*uint64(x.width)
	if metadata == 0 {
		x.stride += 8 * uint64(r32(p, 56))
	}
	if r32(p, 52)&1 != 0 {
		x.stride += 8
	}
	return x
}

func newQF(p, b []byte) table {
	if x := quotientTable(p, b); x != nil {
		return x
	}
	return nil
}

func (x *qf) block(b uint64) []byte { return x.bits[b*x.stride : (b+1)*x.stride] }

func (x *qf) remainder(slot uint64) uint64 {
	block, i := x.block(slot / 64)[17:], slot%64
	planes := x.width % 8
	r := uint64(0)
	for j := uint(0); j < x.width/8; j++ {
		r |= uint64(block[8*planes+64*j+uint(i)]) << (8 * j)
	}
	for j := uint(0); j < planes; j++ {
		r |= r64(block, int(8*j)) >> i & 1 << (x.width/8*8 + j)
	}
	return r
}

// end is the slot of the n-th end of a run, from 1, at or after a slot.
func (x *qf) end(from, n uint64) uint64 {
	b := from / 64
	word := r64(x.block(b), 9) &^ (1<<(from%64) - 1)
	for uint64(bits.OnesCount64(word)) < n {
		n -= uint64(bits.OnesCount64(word))
		b++
		word = r64(x.block(b), 9)
	}
	for ; n > 1; n-- {
		word &= word - 1
	}
	return 64*b + uint64(bits.TrailingZeros64(word))
}

// address gives the quotient of a digest, and the 128 bits of the fraction.
func (x *qf) address(d digest) (quotient, rest, rest2 uint64) {
	carry, rest2 := bits.Mul64(d.lo, x.slots)
	quotient, rest = bits.Mul64(d.hi, x.slots)
	rest, c := bits.Add64(rest, carry, 0)
	return quotient + c, rest, rest2
}

// run gives the first and the last slot of the run of a quotient, if it has one.
func (x *qf) run(quotient uint64) (first, last uint64, has bool) {
	b, i := quotient/64, quotient%64
	occupied := r64(x.block(b), 1)
	if occupied>>i&1 == 0 {
		return 0, 0, false
	}
	runs := uint64(bits.OnesCount64(occupied & (1<<i - 1))) // before that of the quotient
	for x.block(b)[0] == 255 {
		b--
		runs += uint64(bits.OnesCount64(r64(x.block(b), 1)))
	}
	first = 64*b + uint64(x.block(b)[0])
	if runs > 0 {
		first = x.end(first, runs) + 1
	}
	if first < quotient {
		first = quotient
	}
	return first, x.end(first, 1), true
}

func (x *qf) has(d digest) bool {
	quotient, rest, _ := x.address(d)
	first, last, has := x.run(quotient)
	wanted := rest >> (64 - x.width)
	for ; has && first <= last; first++ {
		if x.remainder(first) == wanted {
			return true
		}
	}
	return false
}

// ------------------------------------------------------------------ aqf

// An aqf is a qf whose fingerprints may have further slots, with a string of bits.
type aqf struct {
	qf
	payload uint64 // bits of the string in a further slot
}

func newAQF(p, b []byte) table {
	x := quotientTable(p, b)
	if x == nil || r32(p, 52)&1 == 0 {
		return nil
	}
	tag := uint64(3)
	if x.width < 7 {
		tag = 1
	} else if x.width == 7 {
		tag = 2
	}
	if uint64(x.width) <= tag {
		return nil
	}
	return &aqf{qf: *x, payload: uint64(x.width) - tag}
}

func (x *aqf) begins(slot uint64) bool {
	return r64(x.block(slot/64), 17+8*int(x.width))>>(slot%64)&1 == 1
}

// bit is that of the string that begins in a slot.
func (x *aqf) bit(slot, i uint64) uint64 {
	return x.remainder(slot+i/x.payload) >> (x.payload - 1 - i%x.payload) & 1
}

// extension gives the bits of the string, of n slots from a slot on, that are the extension: none if
// from is to. A tombstone is no member's.
func (x *aqf) extension(slot, n uint64) (from, to uint64, member bool) {
	to = n * x.payload
	if n == 0 || x.bit(slot, 0) == 1 && x.bit(slot, 1) == 1 {
		return to, to, true
	}
	from, member = 1, true
	if x.bit(slot, 0) == 1 {
		zeros := uint64(0)
		for 2+zeros < to && x.bit(slot, 2+zeros) == 0 {
			zeros++
		}
		from, member = 3+2*zeros, zeros > 0
	}
	for to > from && x.bit(slot, to-1) == 0 {
		to--
	}
	if to <= from {
		return from, from, member
	}
	return from, to - 1, member
}

// matches tells whether the extension is a prefix of the fraction's bits after the remainder.
func (x *aqf) matches(slot, n, rest, rest2 uint64) bool {
	from, to, member := x.extension(slot, n)
	for i, at := from, uint64(x.width); i < to; i, at = i+1, at+1 {
		word := rest
		if at >= 64 {
			word = rest2
		}
		if at >= 128 || word>>(63-at%64)&1 != x.bit(slot, i) {
			return false
		}
	}
	return member
}

func (x *aqf) has(d digest) bool {
	quotient, rest, rest2 := x.address(d)
	first, last, has := x.run(quotient)
	wanted := rest >> (64 - x.width)
	for ; has && first <= last; first++ {
		if !x.begins(first) || x.remainder(first) != wanted {
			continue
		}
		n := uint64(0)
		for first+n < last && !x.begins(first+n+1) {
			n++
		}
		if x.matches(first+1, n, rest, rest2) {
			return true
		}
	}
	return false
}
