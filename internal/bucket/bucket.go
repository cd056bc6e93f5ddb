// Package bucket tells in which bucket of a table a key lives.
//
// It is Apache Fluss's own function, bit for bit, and every store of this module uses it: a job then has the same bucket
// number in an embedded file as on a Fluss cluster, and a row that a Java, Flink or Python client writes for a job lands
// beside ours.
package bucket

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	seed = 42
	c1   = 0xcc9e2d51
	c2   = 0x1b873593
	c3   = 0xe6546b64
)

// Of returns the bucket, in [0, buckets), of an encoded key. For Fluss the key is the bucket-key columns in compacted-key
// form. With one bucket, or fewer, the answer is 0.
func Of(key []byte, buckets int) int {
	if buckets <= 1 {
		return 0
	}
	return int(spread(hash(key)) % uint32(buckets))
}

// OfString returns the bucket of a row whose bucket key is the one STRING column job. It is Of over the compacted form of
// that column, the length as an unsigned varint and then the bytes, and allocates nothing for keys up to 250 bytes.
func OfString(job string, buckets int) int {
	if buckets <= 1 {
		return 0
	}
	var room [256]byte
	key := append(binary.AppendUvarint(room[:0], uint64(len(job))), job...)
	return Of(key, buckets)
}

// hash is MurmurHash3 (x86, 32 bit) with one deviation that Fluss inherited: each byte after the last whole word is
// sign-extended and takes the full mixing step of a word, where the original collects the tail into one short word.
func hash(key []byte) uint32 {
	h := uint32(seed)
	n := len(key)
	for ; len(key) >= 4; key = key[4:] {
		h = step(h, binary.LittleEndian.Uint32(key))
	}
	for _, b := range key {
		h = step(h, uint32(int32(int8(b))))
	}
	return avalanche(h ^ uint32(n))
}

// spread hashes a hash once more and makes it non-negative, as Fluss does before it takes the remainder.
func spread(h uint32) uint32 {
	v := int32(avalanche(mix(scramble(h)) ^ 4))
	switch {
	case v == math.MinInt32:
		return 0 // has no positive counterpart
	case v < 0:
		return uint32(-v)
	}
	return uint32(v)
}

func step(h, word uint32) uint32 { return mix(h ^ scramble(word)) }

func scramble(k uint32) uint32 { return bits.RotateLeft32(k*c1, 15) * c2 }

func mix(h uint32) uint32 { return bits.RotateLeft32(h, 13)*5 + c3 }

func avalanche(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}
