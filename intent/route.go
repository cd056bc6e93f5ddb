package intent

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrBadRoute is wrapped by errors about a route that cannot be saved.
var ErrBadRoute = errors.New("bad route")

// ErrForbiddenHeader is wrapped by errors about a header that carries credentials
// and must never be saved.
var ErrForbiddenHeader = errors.New("header must not be saved")

// MaxRoute is the largest route in bytes: method, target, path and headers. With
// it a payload of [MaxPayload] fits into [MaxDetail] in every text form.
const MaxRoute = 64 << 10

// Route says where a wrapped HTTP call goes. It is part of the intent: the same
// action under another route is another intent. It names a target of a registry,
// never a URL, and never holds credentials: the log is a copy of it for ever.
type Route struct {
	Method string  // an HTTP method in upper case
	Target string  // a name in the caller's registry of targets; rules of CheckID
	Path   string  // path and query below the target's base, beginning with one "/"
	Header []Field // the saved headers, in order
}

// Field is one saved header line.
type Field struct{ Name, Value string }

// IsZero reports whether the route is absent.
func (r Route) IsZero() bool {
	return r.Method == "" && r.Target == "" && r.Path == "" && len(r.Header) == 0
}

func (r Route) check() error {
	if r.Method == "" || !methodByte.holds(r.Method) {
		return fmt.Errorf("%w: method %q", ErrBadRoute, r.Method)
	}
	if err := CheckID("target", r.Target); err != nil {
		return fmt.Errorf("%w: %w", ErrBadRoute, err)
	}
	// A path that begins with "//" would name another host when it is resolved.
	if r.Target == "-" || !strings.HasPrefix(r.Path, "/") || strings.HasPrefix(r.Path, "//") || !pathByte.holds(r.Path) {
		return fmt.Errorf("%w: target %q, path %q", ErrBadRoute, r.Target, withoutQuery(r.Path))
	}
	if err := checkPath(r.Path); err != nil {
		return err
	}
	size := len(r.Method) + len(r.Target) + len(r.Path)
	for _, f := range r.Header {
		if err := f.check(); err != nil {
			return err
		}
		size += len(f.Name) + len(f.Value) + len(": \n")
	}
	if size > MaxRoute {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrBadRoute, size, MaxRoute)
	}
	return nil
}

func withoutQuery(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}

// checkPath refuses a path that would leave the target's base, and a query that may
// carry a credential: those are added when the request is sent.
func checkPath(path string) error {
	path, query, _ := strings.Cut(path, "?")
	if strings.Contains(path, "/.") || strings.Contains(path, "/%2") { // few have one, and this is asked in every fold
		for segment := range strings.SplitSeq(path, "/") {
			switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
			case ".", "..":
				return fmt.Errorf("%w: path %q has a dot segment", ErrBadRoute, path)
			}
		}
	}
	for pair := range strings.FieldsFuncSeq(query, func(c rune) bool { return c == '&' || c == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain // as the service reads it
		}
		if credentialHeader(strings.ToLower(name)) {
			return fmt.Errorf("%w: query parameter %q may carry a credential; add it when the request is sent", ErrBadRoute, name)
		}
	}
	return nil
}

func (f Field) check() error {
	switch name := strings.ToLower(f.Name); {
	case credentialHeader(name):
		return fmt.Errorf("%w: %q", ErrForbiddenHeader, f.Name)
	case name == "" || name == bodyField || !nameByte.holds(f.Name):
		return fmt.Errorf("%w: header name %q", ErrBadRoute, f.Name)
	case valueByte.holds(f.Value):
		return nil
	case strings.TrimSpace(f.Value) != f.Value || !utf8.ValidString(f.Value) || strings.ContainsFunc(f.Value, unicode.IsControl):
		return fmt.Errorf("%w: value of header %q", ErrBadRoute, f.Name)
	}
	return nil
}

var (
	methodByte = bytesOf(upper)
	nameByte   = bytesOf(upper + lower + digits + "-_")       // in the name of a saved header
	valueByte  = bytesOf(upper + lower + digits + "-._:/+;=") // in most of their values
	// What may stand in a saved path: not what HTTP would have escaped, and no fragment,
	// since those are never sent.
	pathByte = bytesOf(upper + lower + digits + `-._~:/?[]@!$&'()*+,;="<>\^` + "`" + `{|}%`)
)

// credentialHeader tells the headers, by lower-case name, that carry credentials.
// They are added when a request is sent and are never saved. Refusing a harmless
// header costs its user a line; saving a secret cannot be undone.
func credentialHeader(name string) bool {
	name = strings.ReplaceAll(name, "_", "-")
	for _, secret := range []string{"authorization", "cookie", "token", "secret", "password", "credential", "api-key", "apikey", "auth-key", "signature", "session"} {
		if strings.Contains(name, secret) {
			return true
		}
	}
	return false
}
