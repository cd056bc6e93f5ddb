package intent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// ErrNotCanonical is wrapped by errors about JSON that has no canonical form
// which means the same.
var ErrNotCanonical = errors.New("no canonical form")

// maxDepth bounds the nesting of a JSON text that is canonicalised.
const maxDepth = 100

// Canonical returns v as JSON in the canonical form of RFC 8785 (JCS): the same
// value always has the same bytes. A []byte or json.RawMessage is taken as a JSON
// text. A number that JCS would write as another literal, such as 1.0 or an
// integer beyond 2^53, is an error and is never changed; so are duplicate keys
// and text that is not Unicode.
func Canonical(v any) ([]byte, error) {
	var text []byte
	switch v := v.(type) {
	case []byte:
		text = v
	case json.RawMessage:
		text = v
	default:
		var err error
		if text, err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("canonical JSON: %w", err)
		}
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("canonical JSON: %w: not UTF-8", ErrNotCanonical)
	}
	if err := checkValue(text); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	out, err := transform(text)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w: %w", ErrNotCanonical, err)
	}
	return out, nil
}

// transform wraps a lone value, since the library takes objects and arrays only.
func transform(text []byte) ([]byte, error) {
	out, err := jcs.Transform(append(append([]byte{'['}, text...), ']'))
	if err != nil {
		return nil, err
	}
	return out[1 : len(out)-1], nil
}

// checkValue refuses what JCS would change or drop in silence.
func checkValue(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := checkToken(dec, text, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more than one JSON value", ErrNotCanonical)
	}
	return nil
}

func checkToken(dec *json.Decoder, text []byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: nested deeper than %d", ErrNotCanonical, maxDepth)
	}
	from := dec.InputOffset()
	tok, err := dec.Token()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotCanonical, err)
	}
	switch tok := tok.(type) {
	case json.Number:
		return checkNumber(tok)
	case string:
		return checkSurrogates(text[from:dec.InputOffset()])
	case json.Delim:
		keys := map[string]bool{}
		for dec.More() {
			if tok == '{' {
				from := dec.InputOffset()
				key, err := dec.Token()
				if err != nil {
					return fmt.Errorf("%w: %w", ErrNotCanonical, err)
				}
				if err := checkSurrogates(text[from:dec.InputOffset()]); err != nil {
					return err
				}
				name, _ := key.(string)
				if keys[name] {
					return fmt.Errorf("%w: duplicate key %q", ErrNotCanonical, name)
				}
				keys[name] = true
			}
			if err := checkToken(dec, text, depth+1); err != nil {
				return err
			}
		}
		if _, err := dec.Token(); err != nil {
			return fmt.Errorf("%w: %w", ErrNotCanonical, err)
		}
	}
	return nil
}

func checkNumber(n json.Number) error {
	out, err := transform([]byte(n))
	if err != nil {
		return fmt.Errorf("%w: number %s: %w", ErrNotCanonical, n, err)
	}
	if string(out) != string(n) {
		return fmt.Errorf("%w: number %s would become %s", ErrNotCanonical, n, out)
	}
	return nil
}

// checkSurrogates refuses an escaped half of a surrogate pair: the decoder would
// replace it by U+FFFD and so make two strings one.
func checkSurrogates(literal []byte) error {
	if !bytes.Contains(literal, []byte(`\u`)) {
		return nil
	}
	for i := 0; i+1 < len(literal); i++ {
		if literal[i] != '\\' {
			continue
		}
		unit, ok := escape(literal[i:])
		switch {
		case !ok:
			i++ // a two-byte escape
		case unit&0xfc00 == 0xd800:
			low, ok := escape(literal[i+6:])
			if !ok || low&0xfc00 != 0xdc00 {
				return fmt.Errorf("%w: lone surrogate %s", ErrNotCanonical, literal[i:i+6])
			}
			i += 11
		case unit&0xfc00 == 0xdc00:
			return fmt.Errorf("%w: lone surrogate %s", ErrNotCanonical, literal[i:i+6])
		default:
			i += 5
		}
	}
	return nil
}

// escape reads a \uXXXX escape at the front of b.
func escape(b []byte) (unit uint16, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		}
		unit = unit<<4 | uint16(c)
	}
	return unit, true
}
