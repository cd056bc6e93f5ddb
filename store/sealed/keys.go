package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

// KeySize is the length of every key in bytes.
const KeySize = 32

// The errors of this package, to be found with errors.Is.
var (
	// ErrUntrusted says that an event is not genuine, or does not stand where its
	// writer put it: forged, changed, replayed, dropped or reordered. It wraps
	// store.ErrCorrupt, so that nobody takes it for an error that passes.
	ErrUntrusted = fmt.Errorf("the log cannot be trusted: %w", store.ErrCorrupt)
	// ErrKey says that a key is missing or is none.
	ErrKey = errors.New("no usable key")
	// ErrShredded is what Options.JobKey wraps to say that the key of a job was
	// destroyed on purpose.
	ErrShredded = errors.New("the job's key was destroyed")
	// ErrTooLarge says that a detail does not fit into an event once it is sealed:
	// see [Options.MaxDetail]. Nothing was appended.
	ErrTooLarge = fmt.Errorf("%w to be sealed", store.ErrTooLarge)
)

// Keyring holds the keys of a log. Its methods may be called by many goroutines at
// once. To rotate, add a key, let every reader have it, then make it the current
// one; keep the old ones for as long as the log is read.
type Keyring interface {
	// Current returns the ID of the key that seals new events. It stands in the
	// log in clear, under the rules of intent.CheckID.
	Current() string
	// Key returns the key of an ID: [KeySize] random bytes, which are not changed.
	// An error makes the events under that ID unreadable: ErrKey.
	Key(id string) ([]byte, error)
}

// Keys is a Keyring in memory. It prints without its keys.
type Keys struct {
	Use  string            // the ID of the current key
	ByID map[string][]byte // all keys, [KeySize] bytes each
}

// Current implements [Keyring].
func (k Keys) Current() string { return k.Use }

// Key implements [Keyring].
func (k Keys) Key(id string) ([]byte, error) {
	key, ok := k.ByID[id]
	if !ok {
		return nil, errors.New("not in the key ring")
	}
	return key, nil
}

// String tells how many keys there are, and never a key.
func (k Keys) String() string { return fmt.Sprintf("%d keys, using %q", len(k.ByID), k.Use) }

// GoString keeps keys out of %#v.
func (k Keys) GoString() string { return "sealed.Keys{" + k.String() + "}" }

// LogValue keeps keys out of structured logs.
func (k Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }

// keyset is what is derived from one key: a key for each use, so that no output of
// one is ever an output of another.
type keyset struct {
	mac  []byte  // authenticates events
	data []byte  // the root of what hides details
	hide *hiding // the details of jobs without a key of their own
}

// hiding is what hides the details of one job, or of a whole log.
type hiding struct {
	aead   cipher.AEAD
	nonce  []byte // makes nonces
	digest []byte // hides payload digests, which can be guessed from their payloads
}

// keys returns the keyset of an ID, derived once.
func (s *Store) keys(id string) (*keyset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.keysets[id]; k != nil {
		return k, nil
	}
	key, err := s.ring.Key(id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %q: %w", ErrKey, id, err)
	case len(key) != KeySize:
		return nil, fmt.Errorf("%w: %q has %d bytes, want %d", ErrKey, id, len(key), KeySize)
	}
	k := &keyset{mac: derive(key, nil, "mac"), data: derive(key, nil, "data")}
	k.hide = newHiding(k.data, nil)
	s.keysets[id] = k
	return k, nil
}

// hide returns what hides the details of a job.
func (s *Store) hide(k *keyset, job intent.JobID) (*hiding, error) {
	if s.opts.JobKey == nil {
		return k.hide, nil
	}
	key, err := s.opts.JobKey(job)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w of job %q: %w", ErrKey, job, err)
	case len(key) != KeySize:
		return nil, fmt.Errorf("%w of job %q: %d bytes, want %d", ErrKey, job, len(key), KeySize)
	}
	return newHiding(k.data, key), nil
}

func newHiding(root, salt []byte) *hiding {
	block, err := aes.NewCipher(derive(root, salt, "encrypt"))
	if err != nil {
		panic(err) // only for keys of another length
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // only for other ciphers
	}
	return &hiding{aead: aead, nonce: derive(root, salt, "nonce"), digest: derive(root, salt, "digest")}
}

func derive(key, salt []byte, use string) []byte {
	out, err := hkdf.Key(sha256.New, key, salt, "intentlog sealed/1 "+use, KeySize)
	if err != nil {
		panic(err) // only for lengths that SHA-256 cannot make
	}
	return out
}

// sum is HMAC-SHA256 over the parts. Of two parts the first says where it ends.
func sum(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		mac.Write([]byte(p))
	}
	return mac.Sum(nil)
}
