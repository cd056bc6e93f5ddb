package intent

import (
	"encoding/base64"
	"errors"
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

// ErrBadRoute is wrapped by errors about a route that cannot be saved.
var ErrBadRoute = errors.New("bad route")

// ErrForbiddenHeader is wrapped by errors about a header that carries credentials
// and must never be saved.
var ErrForbiddenHeader = errors.New("header must not be saved")

// Detail returns the reversible text form of the intent. Two intents of one action
// are the same exactly when their details are.
func (in Intent) Detail() (string, error) {
	if err := in.Check(); err != nil {
		return "", err
	}
	plain := utf8.Valid(in.Payload) && strings.IndexByte(string(in.Payload), 0) < 0
	if in.Route.IsZero() && plain && !strings.HasPrefix(string(in.Payload), docMagic) {
		return string(in.Payload), nil
	}
	var b strings.Builder
	b.WriteString(docMagic + docVersion)
	if in.Route.IsZero() {
		b.WriteString(" -\n")
	} else {
		fmt.Fprintf(&b, " %s %s %s\n", in.Route.Method, in.Route.Target, in.Route.Path)
	}
	for _, f := range in.Route.Header {
		fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
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

// ParseDetail reads what [Intent.Detail] wrote. The payload is a copy.
func ParseDetail(action ActionID, detail string) (Intent, error) {
	in, body, err := parseDetail(action, detail)
	if err != nil {
		return Intent{}, err
	}
	in.Payload = []byte(body)
	return in, in.Check()
}

// parseDetail leaves the payload a substring of detail where it can.
func parseDetail(action ActionID, detail string) (in Intent, body string, err error) {
	in.Action = action
	rest, ok := strings.CutPrefix(detail, docMagic)
	if !ok {
		return in, detail, nil
	}
	line, rest, ok := strings.Cut(rest, "\n")
	if !ok {
		return in, "", fmt.Errorf("%w: request document without an end of its first line", ErrMalformed)
	}
	words := strings.SplitN(line, " ", 4)
	if words[0] != docVersion {
		return in, "", fmt.Errorf("%w: request document version %q", ErrUnsupported, words[0])
	}
	switch {
	case len(words) == 2 && words[1] == "-":
	case len(words) == 4:
		in.Route = Route{Method: words[1], Target: words[2], Path: words[3]}
	default:
		return in, "", fmt.Errorf("%w: first line of a request document", ErrMalformed)
	}
	encoded := false
	for {
		line, rest, ok = strings.Cut(rest, "\n")
		if !ok {
			return in, "", fmt.Errorf("%w: request document without an empty line", ErrMalformed)
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ": ")
		switch {
		case !ok || encoded:
			return in, "", fmt.Errorf("%w: header line of a request document", ErrMalformed)
		case name == bodyField && value == bodyBase64:
			encoded = true
		case name == bodyField:
			return in, "", fmt.Errorf("%w: body encoding %q", ErrUnsupported, value)
		default:
			in.Route.Header = append(in.Route.Header, Field{name, value})
		}
	}
	if !encoded {
		return in, rest, nil
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(rest)
	if err != nil {
		return in, "", fmt.Errorf("%w: body of a request document: %w", ErrMalformed, err)
	}
	return in, string(raw), nil
}

func (r Route) check() error {
	if r.Method == "" || strings.Trim(r.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return fmt.Errorf("%w: method %q", ErrBadRoute, r.Method)
	}
	if err := CheckID("target", r.Target); err != nil {
		return fmt.Errorf("%w: %w", ErrBadRoute, err)
	}
	if r.Target == "-" || !strings.HasPrefix(r.Path, "/") || strings.ContainsFunc(r.Path, notPath) {
		return fmt.Errorf("%w: target %q, path %q", ErrBadRoute, r.Target, r.Path)
	}
	for _, f := range r.Header {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

// notPath tells the runes that may not stand in a saved path: those that HTTP
// would have escaped.
func notPath(c rune) bool { return c <= ' ' || c >= 0x7f }

func (f Field) check() error {
	switch name := strings.ToLower(f.Name); {
	case credentialHeader(name):
		return fmt.Errorf("%w: %q", ErrForbiddenHeader, f.Name)
	case name == "" || name == bodyField || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
		return fmt.Errorf("%w: header name %q", ErrBadRoute, f.Name)
	case strings.TrimSpace(f.Value) != f.Value || strings.ContainsFunc(f.Value, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return fmt.Errorf("%w: value of header %q", ErrBadRoute, f.Name)
	}
	return nil
}

// credentialHeader tells the headers, by lower-case name, that carry credentials.
// They are added when a request is sent and are never saved.
func credentialHeader(name string) bool {
	switch name {
	case "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-auth-token", "x-amz-security-token":
		return true
	}
	return false
}
