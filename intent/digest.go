package intent

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"unsafe"
)

// ErrBadDigest is wrapped by errors about text that is no digest.
var ErrBadDigest = errors.New("bad digest")

// Digest is the SHA-256 of a payload as 64 lower-case hex digits, the form it has
// in the log and in receipts. The empty Digest means that there is no payload.
type Digest string

// DigestOf returns the digest of b.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(hex.EncodeToString(sum[:]))
}

// ParseDigest checks that s is 64 lower-case hex digits.
func ParseDigest(s string) (Digest, error) {
	if !Digest(s).valid() {
		return "", fmt.Errorf("%w: want 64 lower-case hex digits, got %d bytes", ErrBadDigest, len(s))
	}
	return Digest(s), nil
}

// Equal compares two digests in constant time; an empty digest equals nothing.
func (d Digest) Equal(e Digest) bool {
	return d != "" && subtle.ConstantTimeCompare([]byte(d), []byte(e)) == 1
}

// of reports whether d is the digest of payload. It copies nothing: a fold does this
// for every payload of a log, and SHA-256 only reads.
func (d Digest) of(payload string) bool {
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(payload), len(payload)))
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:]) == string(d)
}

func (d Digest) valid() bool {
	if len(d) != 2*sha256.Size {
		return false
	}
	for i := 0; i < len(d); i++ {
		if !hexByte[d[i]] {
			return false
		}
	}
	return true
}

// DeriveActionID makes an action ID that is the same in every attempt and that
// nobody without the key can guess: HMAC-SHA256 of job and name, as hex. Use it
// where the other service does not keep the keys of its callers apart.
// The key needs at least 16 random bytes.
func DeriveActionID(key []byte, job JobID, name string) (ActionID, error) {
	if len(key) < 16 {
		return "", fmt.Errorf("derive action id: key of %d bytes, want at least 16", len(key))
	}
	mac := hmac.New(sha256.New, key)
	// The length in front keeps ("a", "bc") and ("ab", "c") apart.
	fmt.Fprintf(mac, "%d:%s:%s", len(job), job, name)
	return ActionID("act-" + hex.EncodeToString(mac.Sum(nil))), nil
}
