package besom

import (
	"encoding/binary"
	"math/bits"
)

// XXH3 with 128 bits and a secret, and SipHash-1-3 with 128 bits, as docs/format.md says (Hashes). XXH3
// with 64 bits and the default secret tells the shard of a key (docs/publish.md).

const (
	prime32x1 = 0x9E3779B1
	prime32x2 = 0x85EBCA77
	prime32x3 = 0xC2B2AE3D
	prime64x1 = 0x9E3779B185EBCA87
	prime64x2 = 0xC2B2AE3D27D4EB4F
	prime64x3 = 0x165667B19E3779F9
	prime64x4 = 0x85EBCA77C2B2AE63
	prime64x5 = 0x27D4EB2F165667C5
	primeMix1 = 0x165667919E3779F9
	primeMix2 = 0x9FB21C651E98DF25
)

const secretBytes = 192

type hasher struct {
	sip    bool
	k0, k1 uint64
	secret [secretBytes]byte
}

type digest struct{ hi, lo uint64 }

func newHasher(id uint32, seed []byte) *hasher {
	h := &hasher{sip: id == 2, k0: r64(seed, 0), k1: r64(seed, 8)}
	for i := 0; i < secretBytes; i += 16 {
		d := h.sip128(appendUint64(uint64(i/16), nil))
		binary.LittleEndian.PutUint64(h.secret[i:], d.lo)
		binary.LittleEndian.PutUint64(h.secret[i+8:], d.hi)
	}
	return h
}

func r32(b []byte, at int) uint64 { return uint64(binary.LittleEndian.Uint32(b[at:])) }
func r64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

func (h *hasher) word(at int) uint64 { return binary.LittleEndian.Uint64(h.secret[at:]) }

func (h *hasher) bytes(key []byte) digest {
	switch n := len(key); {
	case h.sip:
		return h.sip128(key)
	case n <= 3:
		return h.upTo3(key)
	case n <= 8:
		return h.upTo8(r32(key, 0)+r32(key, n-4)<<32, uint64(n))
	case n <= 16:
		return h.upTo16(key)
	case n <= 240:
		return h.upTo240(key)
	default:
		return h.long(key)
	}
}

func (h *hasher) uint64(key uint64) digest {
	if h.sip {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], key)
		return h.sip128(b[:])
	}
	return h.upTo8(key&0xffffffff+key>>32<<32, 8)
}

func avalanche64(x uint64) uint64 {
	x = (x ^ x>>33) * prime64x2
	x = (x ^ x>>29) * prime64x3
	return x ^ x>>32
}

func avalanche(x uint64) uint64 {
	x = (x ^ x>>37) * primeMix1
	return x ^ x>>32
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func (h *hasher) upTo3(key []byte) digest {
	n := len(key)
	if n == 0 {
		return digest{avalanche64(h.word(80) ^ h.word(88)), avalanche64(h.word(64) ^ h.word(72))}
	}
	low := uint32(key[0])<<16 | uint32(key[n>>1])<<24 | uint32(key[n-1]) | uint32(n)<<8
	high := bits.RotateLeft32(bits.ReverseBytes32(low), 13)
	return digest{avalanche64(uint64(high) ^ r32(h.secret[:], 8) ^ r32(h.secret[:], 12)),
		avalanche64(uint64(low) ^ r32(h.secret[:], 0) ^ r32(h.secret[:], 4))}
}

func (h *hasher) upTo8(word, n uint64) digest {
	hi, lo := bits.Mul64(word^h.word(16)^h.word(24), prime64x1+n<<2)
	hi += lo << 1
	lo ^= hi >> 3
	lo = (lo ^ lo>>35) * primeMix2
	return digest{avalanche(hi), lo ^ lo>>28}
}

func (h *hasher) upTo16(key []byte) digest {
	n := len(key)
	first, last := r64(key, 0), r64(key, n-8)
	hi, lo := bits.Mul64(first^last^h.word(32)^h.word(40), prime64x1)
	lo += uint64(n-1) << 54
	last ^= h.word(48) ^ h.word(56)
	hi += last + last&0xffffffff*(prime32x2-1)
	lo ^= bits.ReverseBytes64(hi)
	hi2, lo2 := bits.Mul64(lo, prime64x2)
	return digest{avalanche(hi2 + hi*prime64x2), avalanche(lo2)}
}

// mix16 is of the bytes of key from at on, and of the secret from s on.
func (h *hasher) mix16(key []byte, at, s int) uint64 {
	return fold(r64(key, at)^h.word(s), r64(key, at+8)^h.word(s+8))
}

func (h *hasher) mix32(acc digest, key []byte, a, b, s int) digest {
	acc.lo = (acc.lo + h.mix16(key, a, s)) ^ (r64(key, b) + r64(key, b+8))
	acc.hi = (acc.hi + h.mix16(key, b, s+16)) ^ (r64(key, a) + r64(key, a+8))
	return acc
}

func (h *hasher) upTo240(key []byte) digest {
	n := len(key)
	acc := digest{0, uint64(n) * prime64x1}
	if n <= 128 {
		for i := (n - 1) / 32; i >= 0; i-- {
			acc = h.mix32(acc, key, 16*i, n-16*(i+1), 32*i)
		}
	} else {
		for i := 32; i < 160; i += 32 {
			acc = h.mix32(acc, key, i-32, i-16, i-32)
		}
		acc = digest{avalanche(acc.hi), avalanche(acc.lo)}
		for i := 160; i <= n; i += 32 {
			acc = h.mix32(acc, key, i-32, i-16, 3+i-160)
		}
		acc = h.mix32(acc, key, n-16, n-32, 136-17-16)
	}
	low := acc.lo + acc.hi
	high := acc.lo*prime64x1 + acc.hi*prime64x4 + uint64(n)*prime64x2
	return digest{-avalanche(high), avalanche(low)}
}

func (h *hasher) accumulate(acc *[8]uint64, stripe []byte, s int) {
	for i := range acc {
		word := r64(stripe, 8*i)
		keyed := word ^ h.word(s+8*i)
		acc[i^1] += word
		acc[i] += keyed & 0xffffffff * (keyed >> 32)
	}
}

func (h *hasher) long(key []byte) digest {
	const stripes = (secretBytes - 64) / 8
	acc := [8]uint64{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	n := len(key)
	for at, stripe := 0, 0; at < (n-1)/64*64; at, stripe = at+64, stripe+1 {
		if stripe == stripes {
			for i := range acc {
				acc[i] = (acc[i] ^ acc[i]>>47 ^ h.word(secretBytes-64+8*i)) * prime32x1
			}
			stripe = 0
		}
		h.accumulate(&acc, key[at:], 8*stripe)
	}
	if (n-1)/64%stripes == 0 && n-1 >= 64*stripes { // the last block is whole
		for i := range acc {
			acc[i] = (acc[i] ^ acc[i]>>47 ^ h.word(secretBytes-64+8*i)) * prime32x1
		}
	}
	h.accumulate(&acc, key[n-64:], secretBytes-64-7)
	merge := func(s int, x uint64) uint64 {
		for i := 0; i < 4; i++ {
			x += fold(acc[2*i]^h.word(s+16*i), acc[2*i+1]^h.word(s+16*i+8))
		}
		return avalanche(x)
	}
	return digest{merge(secretBytes-64-11, ^(uint64(n) * prime64x2)), merge(11, uint64(n)*prime64x1)}
}

// defaultHasher has the secret of XXH3.
var defaultHasher = func() *hasher {
	h := &hasher{}
	copy(h.secret[:], ""+
		"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb"+
		"\x72\x40\xa4\xa4\xb7\xb3\x67\x1f\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21"+
		"\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c\x3c\x28\x52\xbb\x91\xc3\x00\xcb"+
		"\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8"+
		"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31"+
		"\xc8\x9f\x7e\xc9\xd9\x78\x73\x64\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb"+
		"\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e\x2b\x16\xbe\x58\x7d\x47\xa1\xfc"+
		"\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e")
	return h
}()

// hash64 is the 64-bit XXH3 of a key, without a seed.
func hash64(key []byte) uint64 {
	h, n := defaultHasher, len(key)
	switch {
	case n == 0:
		return avalanche64(h.word(56) ^ h.word(64))
	case n <= 3:
		return h.upTo3(key).lo
	case n <= 8:
		x := r32(key, n-4) + r32(key, 0)<<32 ^ h.word(8) ^ h.word(16)
		x = (x ^ bits.RotateLeft64(x, 49) ^ bits.RotateLeft64(x, 24)) * primeMix2
		x = (x ^ (x>>35 + uint64(n))) * primeMix2
		return x ^ x>>28
	case n <= 16:
		low, high := r64(key, 0)^h.word(24)^h.word(32), r64(key, n-8)^h.word(40)^h.word(48)
		return avalanche(uint64(n) + bits.ReverseBytes64(low) + high + fold(low, high))
	case n <= 240:
		return h.middle64(key)
	default:
		return h.long(key).lo
	}
}

func (h *hasher) middle64(key []byte) uint64 {
	n := len(key)
	acc := uint64(n) * prime64x1
	if n <= 128 {
		for i := 0; i <= (n-1)/32; i++ {
			acc += h.mix16(key, 16*i, 32*i) + h.mix16(key, n-16*(i+1), 32*i+16)
		}
		return avalanche(acc)
	}
	for i := 0; i < 128; i += 16 {
		acc += h.mix16(key, i, i)
	}
	acc = avalanche(acc) + h.mix16(key, n-16, 136-17)
	for i := 128; i <= n-16; i += 16 {
		acc += h.mix16(key, i, i-128+3)
	}
	return avalanche(acc)
}

func (h *hasher) sip128(key []byte) digest {
	v0, v1 := h.k0^0x736f6d6570736575, h.k1^0x646f72616e646f6d^0xee
	v2, v3 := h.k0^0x6c7967656e657261, h.k1^0x7465646279746573
	round := func() {
		v0 += v1
		v2 += v3
		v1 = bits.RotateLeft64(v1, 13) ^ v0
		v3 = bits.RotateLeft64(v3, 16) ^ v2
		v0 = bits.RotateLeft64(v0, 32) + v3
		v2 += v1
		v3 = bits.RotateLeft64(v3, 21) ^ v0
		v1 = bits.RotateLeft64(v1, 17) ^ v2
		v2 = bits.RotateLeft64(v2, 32)
	}
	n := len(key)
	for ; len(key) >= 8; key = key[8:] {
		word := r64(key, 0)
		v3 ^= word
		round()
		v0 ^= word
	}
	last := uint64(n) << 56
	for i, b := range key {
		last |= uint64(b) << (8 * i)
	}
	v3 ^= last
	round()
	v0 ^= last
	v2 ^= 0xee
	round()
	round()
	round()
	lo := v0 ^ v1 ^ v2 ^ v3
	v1 ^= 0xdd
	round()
	round()
	round()
	return digest{v0 ^ v1 ^ v2 ^ v3, lo}
}
