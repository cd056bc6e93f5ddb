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
	text := hexOf(sum)
	return Digest(text[:])
}

func hexOf(sum [sha256.Size]byte) (text [2 * sha256.Size]byte) {
	hex.Encode(text[:], sum[:])
	return text
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
	text := hexOf(sha256.Sum256(unsafe.Slice(unsafe.StringData(payload), len(payload))))
	return string(text[:]) == string(d)
}

func (d Digest) valid() bool {
	return len(d) == 2*sha256.Size && hexByte.holds(string(d))
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
