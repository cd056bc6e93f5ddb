package intent

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The text form of an intent, kept in the detail column of [ActionRequested].
//
// A payload without a route that is readable text is its own text form:
//
//	{"ticket":"ticket-1042","outcome":"needs-followup"}
//
// Everything else is one document: a versioned first line with method, target and
// path ("-" where there is no route), the saved headers, an empty line, the body.
//
//	intentlog/1 POST payments /v1/charges
//	Content-Type: application/json
//
//	{"amount":1299}
//
// The body stands unchanged if it is UTF-8 without NUL; else the document carries
// the line "intentlog-body: base64" and the body in standard base64. The digest is
// always over the payload's own bytes.
const (
	docMagic   = "intentlog/"
	docVersion = "1"
	bodyField  = "intentlog-body"
	bodyBase64 = "base64"
)

// Detail returns the reversible text form of the intent. Two intents of one action
// are the same exactly when their details are.
func (in Intent) Detail() (string, error) {
	if err := in.Check(); err != nil {
		return "", err
	}
	plain := readable(string(in.Payload))
	if in.Route.IsZero() && plain && !strings.HasPrefix(string(in.Payload), docMagic) {
		return string(in.Payload), nil
	}
	var b strings.Builder
	size := len(in.Payload) + len(in.Route.Method) + len(in.Route.Target) + len(in.Route.Path) + 64
	for _, f := range in.Route.Header {
		size += len(f.Name) + len(f.Value) + len(": \n")
	}
	b.Grow(size) // all of it, unless it is base64
	b.WriteString(docMagic + docVersion)
	if in.Route.IsZero() {
		b.WriteString(" -\n")
	} else {
		writeAll(&b, " ", in.Route.Method, " ", in.Route.Target, " ", in.Route.Path, "\n")
	}
	for _, f := range in.Route.Header {
		writeAll(&b, f.Name, ": ", f.Value, "\n")
	}
	if plain {
		b.WriteByte('\n')
		b.Write(in.Payload)
		return b.String(), nil
	}
	b.WriteString(bodyField + ": " + bodyBase64 + "\n\n")
	b.WriteString(base64.StdEncoding.EncodeToString(in.Payload))
	return b.String(), nil
}

func writeAll(b *strings.Builder, parts ...string) {
	for _, s := range parts {
		b.WriteString(s)
	}
}

// ParseDetail reads what [Intent.Detail] wrote, and nothing else: every intent has
// one text. The payload is a copy.
func ParseDetail(action ActionID, detail string) (Intent, error) {
	in, body, err := parseDetail(action, detail)
	if err != nil {
		return Intent{}, err
	}
	in.Payload = []byte(body)
	return in, nil
}

// parseDetail leaves the payload a substring of detail where it can.
func parseDetail(action ActionID, detail string) (in Intent, body string, err error) {
	in, body, encoded, err := splitDetail(action, detail)
	if err != nil {
		return in, "", err
	}
	if err := in.check(len(body)); err != nil {
		return in, "", fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	plain := readable(body)
	wrapped := len(body) != len(detail)
	needed := !plain || !in.Route.IsZero() || strings.HasPrefix(body, docMagic)
	if encoded == plain || wrapped != needed {
		return in, "", fmt.Errorf("%w: detail is not in the one form of its intent", ErrMalformed)
	}
	return in, body, nil
}

// readable tells the payloads that stand in the log unchanged.
func readable(payload string) bool {
	return utf8.ValidString(payload) && strings.IndexByte(payload, 0) < 0
}

// splitDetail takes the text form apart; encoded tells that the body was base64.
func splitDetail(action ActionID, detail string) (in Intent, body string, encoded bool, err error) {
	in.Action = action
	rest, ok := strings.CutPrefix(detail, docMagic)
	if !ok {
		return in, detail, false, nil
	}
	line, rest, ok := strings.Cut(rest, "\n")
	if !ok {
		return in, "", false, fmt.Errorf("%w: request document without an end of its first line", ErrMalformed)
	}
	version, line, _ := strings.Cut(line, " ")
	if version != docVersion {
		return in, "", false, fmt.Errorf("%w: request document version %q", ErrUnsupported, version)
	}
	if line != "-" {
		in.Route.Method, line, _ = strings.Cut(line, " ")
		if in.Route.Target, in.Route.Path, ok = strings.Cut(line, " "); !ok {
			return in, "", false, fmt.Errorf("%w: first line of a request document", ErrMalformed)
		}
	}
	for {
		line, rest, ok = strings.Cut(rest, "\n")
		if !ok {
			return in, "", false, fmt.Errorf("%w: request document without an empty line", ErrMalformed)
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ": ")
		switch {
		case !ok || encoded:
			return in, "", false, fmt.Errorf("%w: header line of a request document", ErrMalformed)
		case name == bodyField && value == bodyBase64:
			encoded = true
		case name == bodyField:
			return in, "", false, fmt.Errorf("%w: body encoding %q", ErrUnsupported, value)
		default:
			in.Route.Header = append(in.Route.Header, Field{name, value})
		}
	}
	if !encoded {
		return in, rest, false, nil
	}
	if strings.ContainsAny(rest, "\r\n") { // which the decoder would skip
		return in, "", false, fmt.Errorf("%w: line break in the body of a request document", ErrMalformed)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(rest)
	if err != nil {
		return in, "", false, fmt.Errorf("%w: body of a request document: %w", ErrMalformed, err)
	}
	return in, string(raw), true, nil
}
