package receipt

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/intentlog/intentlog/intent"
)

// MaxReceipt is the largest receipt in bytes, in its JSON form.
const MaxReceipt = 1 << 20

// ErrBadReceipt is wrapped by errors about a receipt that is not about the action,
// not about its payload, too large or not readable.
var ErrBadReceipt = errors.New("bad receipt")

// Receipt is the other service's word that an effect exists.
type Receipt struct {
	Action    intent.ActionID // the action that it is about
	Digest    intent.Digest   // SHA-256 of the payload that had the effect
	Reference string          // the service's own name for the effect, if it gave one
	Code      int             // HTTP status of the answer; 0 if there was none
	MediaType string          // of Body
	Body      []byte          // what the service said; owned by the receipt
}

// receiptDoc is the JSON form. The first two fields come first: readers of the log
// find them there without a JSON decoder.
type receiptDoc struct {
	Action    intent.ActionID `json:"action_id"`
	Digest    intent.Digest   `json:"payload_digest"`
	Reference string          `json:"reference,omitempty"`
	Code      int             `json:"code,omitempty"`
	MediaType string          `json:"media_type,omitempty"`
	Body      string          `json:"body,omitempty"`
	Base64    string          `json:"body_base64,omitempty"`
}

// Check reports whether the receipt is about this action and this payload.
func (r *Receipt) Check(action intent.ActionID, digest intent.Digest) error {
	switch {
	case r == nil:
		return fmt.Errorf("%w: none", ErrBadReceipt)
	case r.Action != action:
		return fmt.Errorf("%w: for action %.80q, want %q", ErrBadReceipt, r.Action, action)
	case !r.Digest.Equal(digest):
		return fmt.Errorf("%w: for a payload of digest %.80q, want %q", ErrBadReceipt, r.Digest, digest)
	case len(r.Body)+len(r.Reference)+len(r.MediaType) > MaxReceipt:
		return fmt.Errorf("%w: more than %d bytes", ErrBadReceipt, MaxReceipt)
	}
	return nil
}

// Encode returns the receipt as the detail of a confirmation: one JSON object.
func (r *Receipt) Encode() (string, error) {
	doc := receiptDoc{Action: r.Action, Digest: r.Digest, Reference: r.Reference, Code: r.Code, MediaType: r.MediaType}
	if utf8.Valid(r.Body) {
		doc.Body = string(r.Body)
	} else {
		doc.Base64 = base64.StdEncoding.EncodeToString(r.Body)
	}
	text, err := intent.Encode(doc)
	if err == nil && len(text) > intent.MaxDetail && doc.Body != "" { // all escapes
		doc.Body, doc.Base64 = "", base64.StdEncoding.EncodeToString(r.Body)
		text, err = intent.Encode(doc)
	}
	if err == nil && len(text) > intent.MaxDetail {
		err = fmt.Errorf("%w: %d bytes in the log, at most %d", ErrBadReceipt, len(text), intent.MaxDetail)
	}
	return text, err
}

// Parse reads what [Receipt.Encode] wrote.
func Parse(text string) (*Receipt, error) {
	var doc receiptDoc
	if err := strictJSON([]byte(text), &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadReceipt, err)
	}
	return doc.receipt()
}

func (doc receiptDoc) receipt() (*Receipt, error) {
	r := &Receipt{
		Action: doc.Action, Digest: doc.Digest, Reference: doc.Reference,
		Code: doc.Code, MediaType: doc.MediaType, Body: []byte(doc.Body),
	}
	if doc.Base64 != "" {
		body, err := base64.StdEncoding.Strict().DecodeString(doc.Base64)
		if err != nil || doc.Body != "" {
			return nil, fmt.Errorf("%w: body_base64", ErrBadReceipt)
		}
		r.Body = body
	}
	return r, nil
}

// String names the receipt without its body.
func (r Receipt) String() string {
	return fmt.Sprintf("receipt %q for %s (%d bytes)", r.Reference, r.Action, len(r.Body))
}

// GoString keeps bodies out of %#v.
func (r Receipt) GoString() string { return "receipt.Receipt{" + r.String() + "}" }

// strictJSON decodes one JSON object and refuses unknown fields, duplicate keys, a
// key in other letters, and anything behind the object.
func strictJSON(text []byte, v any) error {
	if _, err := intent.Canonical(json.RawMessage(text)); err != nil {
		return err // duplicate keys, trailing data, not UTF-8
	}
	if err := exactKeys(text); err != nil {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// exactKeys refuses anything but an object whose keys, at every level, are of lower
// case: encoding/json would take "Action_ID" for "action_id" too, and two readers
// could then see two different receipts in one text.
func exactKeys(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return errors.New("not a JSON object")
	}
	for name, value := range fields {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return fmt.Errorf("unknown field %.40q", name)
		}
		if value[0] == '{' {
			if err := exactKeys(value); err != nil {
				return err
			}
		}
	}
	return nil
}
