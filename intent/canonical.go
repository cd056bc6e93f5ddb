package intent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/gowebpki/jcs"
)

// ErrNotCanonical is wrapped by errors about JSON that has no canonical form
// which means the same.
var ErrNotCanonical = errors.New("no canonical form")

// maxDepth bounds the nesting of a JSON text that is canonicalised.
const maxDepth = 100

// Canonical returns v as JSON in the canonical form of RFC 8785 (JCS): the same
// value always has the same bytes. A []byte or json.RawMessage is taken as a JSON
// text. A number that JCS would write as another literal, such as 1.0 or 2^53+1,
// is an error and is never changed; so are duplicate keys and text that is not
// Unicode.
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
		if replaced(text) {
			return nil, fmt.Errorf("canonical JSON: %w: a string is not UTF-8", ErrNotCanonical)
		}
	}
	if err := checkNumbers(text); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w: %w", ErrNotCanonical, err)
	}
	out, err := jcs.Transform(text)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w: %w", ErrNotCanonical, err)
	}
	return out, nil
}

// replaced reports whether json.Marshal put U+FFFD in the place of bytes that are
// no text: it escapes that one, and writes a true U+FFFD as itself.
func replaced(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(text[i:], []byte(`\ufffd`)) {
			return true
		}
		i++ // an escaped backslash begins nothing
	}
	return false
}

// checkNumbers refuses what JCS would change in silence, and deep nesting. The
// rest of the syntax, duplicate keys and lone surrogates are left to the library.
func checkNumbers(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for depth := 0; ; {
		tok, err := dec.Token()
		switch tok := tok.(type) {
		case json.Number:
			if err := checkNumber(string(tok)); err != nil {
				return err
			}
		case json.Delim:
			if tok == '}' || tok == ']' {
				depth--
			} else if depth++; depth > maxDepth {
				return fmt.Errorf("nested deeper than %d", maxDepth)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func checkNumber(literal string) error {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return fmt.Errorf("number %.40s is out of range", literal)
	}
	if out, err := jcs.NumberToJSON(f); err != nil || out != literal {
		return fmt.Errorf("number %.40s would become %s", literal, out)
	}
	return nil
}
