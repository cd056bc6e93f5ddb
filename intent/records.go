package intent

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// The small JSON documents in the detail column of events other than
// ActionRequested. Field order is part of the format: [History] reads the two
// that every job has without a JSON decoder when they look as written here.

// Claim is the detail of [Started].
type Claim struct {
	Worker string `json:"worker"`
	// Single says that the job is complete as soon as its one action is settled,
	// so that recovery may complete it without the worker's code.
	Single bool `json:"single,omitempty"`
}

// Computation is the detail of [ComputeStarted] and [ComputeFinished].
type Computation struct {
	Name   string `json:"name"`
	Result string `json:"result,omitempty"` // the result if it is readable text
	Base64 string `json:"base64,omitempty"` // the result otherwise
}

// Hold is the detail of [HoldUnknown] and of [ActionRejected].
type Hold struct {
	Reason  string `json:"reason"`            // a short word, see the receipt package
	Message string `json:"message,omitempty"` // what was seen, cut to 256 bytes
}

// Resolution is the detail of [HoldResolved].
type Resolution struct {
	Decision Resolve `json:"decision"`
	By       string  `json:"by"`     // the operator, or "lookup" for new evidence
	Reason   string  `json:"reason"` // why, in words
	Hold     EventID `json:"hold"`   // the hold that this ends
}

// Resolve is how a hold ends.
type Resolve string

// The ways to resolve a hold.
const (
	ResolveRetry   Resolve = "retry"   // send the same bytes again
	ResolveConfirm Resolve = "confirm" // the effect exists
	ResolveReject  Resolve = "reject"  // the effect does not exist and is no longer wanted
)

// ByLookup is the By of a hold that a later lookup resolved.
const ByLookup = "lookup"

// What stands around the worker in a claim. Every job has a claim, and the rules of
// [CheckID] leave nothing in a worker's name to escape.
const (
	claimBefore = `{"worker":"`
	claimAfter  = `"}`
	claimSingle = `","single":true}`
)

// NewComputation returns the detail for a finished computation.
func NewComputation(name string, result []byte) Computation {
	if c := (Computation{Name: name, Result: string(result)}); readable(c.Result) {
		// Text that is full of escapes may be longer than its base64.
		if text, err := Encode(c); err == nil && len(text) <= MaxDetail {
			return c
		}
	}
	return Computation{Name: name, Base64: base64.StdEncoding.EncodeToString(result)}
}

// Bytes returns the result. A computation with both forms of it is an error.
func (c Computation) Bytes() ([]byte, error) {
	switch {
	case c.Base64 == "":
		return []byte(c.Result), nil
	case c.Result != "":
		return nil, fmt.Errorf("%w: computation %q has two results", ErrMalformed, c.Name)
	}
	return base64.StdEncoding.Strict().DecodeString(c.Base64)
}

// Encode returns a record as the detail of its event. HTML characters stand
// unescaped, as in every other JSON of the log.
func Encode(record any) (string, error) {
	if c, ok := record.(Claim); ok && CheckID("worker", c.Worker) == nil {
		if c.Single {
			return claimBefore + c.Worker + claimSingle, nil
		}
		return claimBefore + c.Worker + claimAfter, nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return "", fmt.Errorf("encode detail: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// decode reads a record; unknown fields are refused, since a field that is not
// understood may change the meaning.
func decode(detail string, record any) error {
	if !strings.HasPrefix(detail, "{") { // null would leave the record empty
		return fmt.Errorf("%w: detail is no JSON object", ErrMalformed)
	}
	dec := json.NewDecoder(strings.NewReader(detail))
	dec.DisallowUnknownFields()
	if err := dec.Decode(record); err != nil {
		return fmt.Errorf("%w: detail: %w", ErrMalformed, err)
	}
	if _, err := dec.Token(); err != io.EOF { // More would pass over a closing brace
		return fmt.Errorf("%w: detail: more than one JSON value", ErrMalformed)
	}
	return nil
}

// parseClaim reads the detail of [Started].
func parseClaim(detail string) (c Claim, err error) {
	if rest, ok := strings.CutPrefix(detail, claimBefore); ok {
		if w, ok := strings.CutSuffix(rest, claimSingle); ok && CheckID("worker", w) == nil {
			return Claim{Worker: w, Single: true}, nil
		}
		if w, ok := strings.CutSuffix(rest, claimAfter); ok && CheckID("worker", w) == nil {
			return Claim{Worker: w}, nil
		}
	}
	var other Claim // on the heap; c need not be
	if err := decode(detail, &other); err != nil {
		return c, err
	}
	if err := CheckID("worker", other.Worker); err != nil {
		return c, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return other, nil
}

// receiptMatches reports whether the detail of a confirmation is a receipt that
// names the action and the digest. Receipts begin with these two fields; one that
// does not is read by their names.
func receiptMatches(detail string, action ActionID, digest Digest) bool {
	rest, ok := strings.CutPrefix(detail, `{"action_id":"`)
	if ok {
		rest, ok = strings.CutPrefix(rest, string(action)+`","payload_digest":"`)
	}
	if ok && len(rest) > len(digest) && rest[:len(digest)] == string(digest) && rest[len(digest)] == '"' {
		return validJSON(detail)
	}
	text, err := Canonical(json.RawMessage(detail))
	if err != nil {
		return false
	}
	var doc map[string]json.RawMessage
	return json.Unmarshal(text, &doc) == nil &&
		string(doc["action_id"]) == `"`+string(action)+`"` && string(doc["payload_digest"]) == `"`+string(digest)+`"`
}
