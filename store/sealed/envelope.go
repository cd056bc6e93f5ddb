package sealed

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/intentlog/intentlog/intent"
)

// The envelope is the detail of a sealed event: one line, then the body.
//
//	sealed/1 sign 2026-a 41 hnJ8tQ3s1Yb2kG5cXv0eRg 7f3Vb...(43)...9sA
//	{"ticket":"ticket-1042"}
//
//	sealed/1 aead 2026-a 41 hnJ8tQ3s1Yb2kG5cXv0eRg Tq0cK...(43)...u1E
//	mX0b...
//
// The words are format and version, mode, key ID, how many records of the bucket
// the writer had seen, the first 16 bytes of the hash over them, and the tag. The
// body is the detail itself, or nonce and AES-256-GCM ciphertext of the payload
// digest, LF and the detail. Binary words are in unpadded URL-safe base64.
//
// The tag is HMAC-SHA256 over the bound text, below, and the body as it stands. The
// cipher's additional data is the bound text too.
const (
	magic   = "sealed/"
	version = "1"
)

// Mode says what sealing does to an event. The zero Mode is Encrypt.
type Mode uint8

// The modes. A reader takes both.
const (
	Encrypt Mode = iota // details and payload digests are hidden, and authenticated
	Sign                // everything stays readable, and is authenticated
)

func (m Mode) String() string {
	switch m {
	case Encrypt:
		return "aead"
	case Sign:
		return "sign"
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

const (
	linkSize = 16
	tagSize  = 32
)

// link says what the writer of an event had seen of the bucket.
type link struct {
	at   int64 // records
	hash [linkSize]byte
}

// envelope is the parsed detail of a sealed event.
type envelope struct {
	mode Mode
	key  string
	link link
	tag  [tagSize]byte
	body string
}

var b64 = base64.RawURLEncoding.Strict()

// line is the first line up to the tag.
func (e *envelope) line() string {
	return magic + version + " " + e.mode.String() + " " + e.key + " " +
		strconv.FormatInt(e.link.at, 10) + " " + b64.EncodeToString(e.link.hash[:])
}

// text is the whole envelope.
func (e *envelope) text() string {
	return e.line() + " " + b64.EncodeToString(e.tag[:]) + "\n" + e.body
}

// parse reads what text wrote, and nothing else. The body is a part of the detail.
func parse(detail string) (*envelope, error) {
	rest, ok := strings.CutPrefix(detail, magic)
	if !ok {
		return nil, errors.New("not sealed")
	}
	head, body, ok := strings.Cut(rest, "\n")
	words := strings.SplitN(head, " ", 7)
	if words[0] != version && ok {
		return nil, fmt.Errorf("envelope of unknown version %.20q", words[0])
	}
	if !ok || len(words) != 6 {
		return nil, errors.New("not an envelope")
	}
	e := &envelope{key: words[2], body: body}
	switch words[1] {
	case Encrypt.String():
	case Sign.String():
		e.mode = Sign
	default:
		return nil, fmt.Errorf("envelope of unknown mode %.20q", words[1])
	}
	if err := intent.CheckID("key", e.key); err != nil {
		return nil, err
	}
	var err error
	if e.link.at, err = strconv.ParseInt(words[3], 10, 64); err != nil || e.link.at < 0 {
		return nil, errors.New("envelope without a place")
	}
	if !word(e.link.hash[:], words[4]) || !word(e.tag[:], words[5]) || !strings.HasPrefix(detail, e.line()+" ") {
		return nil, errors.New("not an envelope") // or a number in another form, such as 007
	}
	return e, nil
}

// word decodes a binary word of exactly the length of dst.
func word(dst []byte, text string) bool {
	if len(text) != b64.EncodedLen(len(dst)) {
		return false
	}
	n, err := b64.Decode(dst, []byte(text))
	return err == nil && n == len(dst)
}

// bound is the text that ties an envelope to its place: the first line, the log and
// bucket, and the other eight columns, each preceded by its length.
func (s *Store) bound(bucket int, e *envelope, ev *intent.Event) string {
	line := e.line()
	b := make([]byte, 0, 128+len(line)+len(s.log)+len(ev.JobID)+len(ev.EventID)+len(ev.ActionID)+len(ev.PayloadDigest))
	put := func(t string) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(t)))
		b = append(b, t...)
	}
	num := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) }
	put(line)
	put(s.log)
	num(int64(bucket))
	put(string(ev.JobID))
	put(string(ev.EventID))
	num(int64(ev.Attempt))
	num(int64(ev.Step))
	put(string(ev.Type))
	put(string(ev.ActionID))
	put(string(ev.PayloadDigest))
	num(ev.EmittedAtMS)
	return string(b)
}

// seal returns the event as the log holds it, and its tag. The same event under the
// same link is always the same bytes: nothing in it is random.
func (s *Store) seal(bucket int, ev intent.Event, l link) (intent.Event, [tagSize]byte, error) {
	e := envelope{mode: s.opts.Mode, key: s.ring.Current(), link: l, body: ev.Detail}
	if ev.Type == intent.Barrier {
		e.mode = Sign // there is nothing to hide, and no job
	}
	if err := intent.CheckID("key", e.key); err != nil {
		return ev, e.tag, fmt.Errorf("%w: %w", ErrKey, err)
	}
	k, err := s.keys(e.key)
	if err != nil {
		return ev, e.tag, err
	}
	if len(ev.Detail) > s.opts.MaxDetail() {
		return ev, e.tag, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(ev.Detail), s.opts.MaxDetail())
	}
	var bound string
	if e.mode == Encrypt {
		h, err := s.hide(k, ev.JobID)
		if err != nil {
			return ev, e.tag, err
		}
		plain := string(ev.PayloadDigest) + "\n" + ev.Detail
		if ev.PayloadDigest != "" {
			ev.PayloadDigest = intent.Digest(hex.EncodeToString(sum(h.digest, string(ev.PayloadDigest))))
		}
		// The nonce is a function of everything that is sealed: it repeats only for
		// the very same event, whose ciphertext is then the same as well.
		bound = s.bound(bucket, &e, &ev)
		box := make([]byte, 0, h.aead.NonceSize()+len(plain)+h.aead.Overhead())
		box = append(box, sum(h.nonce, bound, plain)[:h.aead.NonceSize()]...)
		box = h.aead.Seal(box, box, []byte(plain), []byte(bound))
		e.body = b64.EncodeToString(box)
	} else {
		bound = s.bound(bucket, &e, &ev)
	}
	copy(e.tag[:], sum(k.mac, bound, e.body))
	ev.Detail = e.text()
	return ev, e.tag, nil
}

// unseal turns a sealed event back into what was appended. An event whose job's key
// was destroyed is genuine all the same, and comes back with ErrShredded.
func (s *Store) unseal(bucket int, ev *intent.Event) (*envelope, error) {
	e, err := parse(ev.Detail)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	k, err := s.keys(e.key)
	if err != nil {
		return nil, err
	}
	bound := s.bound(bucket, e, ev)
	if !hmac.Equal(e.tag[:], sum(k.mac, bound, e.body)) {
		return nil, fmt.Errorf("%w: wrong tag", ErrUntrusted)
	}
	if e.mode == Sign {
		ev.Detail = e.body
		return e, nil
	}
	h, err := s.hide(k, ev.JobID)
	if err != nil {
		return e, err
	}
	box, err := b64.DecodeString(e.body)
	if err != nil || len(box) < h.aead.NonceSize() {
		return nil, fmt.Errorf("%w: no ciphertext", ErrUntrusted)
	}
	plain, err := h.aead.Open(nil, box[:h.aead.NonceSize()], box[h.aead.NonceSize():], []byte(bound))
	if err != nil {
		return nil, fmt.Errorf("%w: the job's key does not open it", ErrKey) // its tag was right
	}
	digest, detail, ok := strings.Cut(string(plain), "\n")
	if !ok || !utf8.ValidString(detail) || (digest == "") != (ev.PayloadDigest == "") {
		return nil, fmt.Errorf("%w: malformed content", ErrUntrusted)
	}
	ev.PayloadDigest, ev.Detail = intent.Digest(digest), detail
	return e, nil
}
