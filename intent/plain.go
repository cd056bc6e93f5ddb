package intent

import (
	"encoding/json"
	"strings"
)

// validJSON is json.Valid, and quick where the text is an object of strings and whole
// numbers without spaces, as receipts are written. A fold judges one receipt for
// every job of a log.
func validJSON(text string) bool {
	return plainObject(text) || json.Valid([]byte(text))
}

// plainObject reports whether text is such an object. False says nothing.
func plainObject(text string) bool {
	rest, ok := strings.CutPrefix(text, "{")
	for ok {
		if rest, ok = plainString(rest); !ok {
			return false
		}
		if rest, ok = strings.CutPrefix(rest, ":"); !ok {
			return false
		}
		if after, isString := plainString(rest); isString {
			rest = after
		} else if rest, ok = plainNumber(rest); !ok {
			return false
		}
		if rest == "}" {
			return true
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return false
}

// plainString cuts a string literal off the front. Its escapes are of two characters.
func plainString(text string) (rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", false
	}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return text[i+1:], true
		case c < ' ':
			return "", false
		case c == '\\':
			i++
			if i == len(text) || !strings.Contains(`"\/bfnrt`, text[i:i+1]) {
				return "", false
			}
		}
	}
	return "", false
}

// plainNumber cuts a whole number of digits off the front.
func plainNumber(text string) (rest string, ok bool) {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return text[n:], n == 1 || n > 1 && text[0] != '0'
}
