package receipttest

import (
	"fmt"
	"strings"
	"time"

	"github.com/intentlog/intentlog/receipt"
)

// Verdict is how one case ended. The zero Verdict is NotProbed.
type Verdict uint8

// The verdicts.
const (
	NotProbed Verdict = iota // a hook is missing, or there was no witness
	Kept                     // seen to hold
	Broken                   // seen to fail
)

func (v Verdict) String() string {
	switch v {
	case NotProbed:
		return "not probed"
	case Kept:
		return "kept"
	case Broken:
		return "BROKEN"
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// Case is one question and what was seen.
type Case struct {
	Name    string
	Verdict Verdict
	Seen    string // what was seen, or what is missing to see something
}

// The names of the cases, in the order in which they are probed.
const (
	SameBytes   = "same key, same bytes"
	OtherBytes  = "same key, other bytes"
	Concurrent  = "concurrent duplicates"
	Late        = "request that arrives late"
	InFlight    = "lookup while in flight"
	AfterCommit = "lookup after the commit"
	UnknownKey  = "lookup of an unknown key"
	NoAuth      = "lookup without credentials"
	CrashCase   = "crash between effect and receipt"
	Expiry      = "age of a key"
)

// Report is what a probe saw.
type Report struct {
	Name  string
	Cases []Case // in the order of the names above
	// Contract is the strongest that the service may claim on what was seen.
	Contract receipt.Contract
	// Possible is what it may claim if everything holds that was not probed.
	Possible receipt.Contract
	// Lookup says that the lookup may be used with it: it found what was there,
	// and said Absent only of what was not.
	Lookup bool
	// Missing tells what stands between Contract and more, one line each.
	Missing []string
}

// Case returns the named case; the zero Case if there is none.
func (r Report) Case(name string) Case {
	for _, c := range r.Cases {
		if c.Name == name {
			return c
		}
	}
	return Case{}
}

// String is the report for people, a line per case.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "service:  %s\n", r.Name)
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "  %-10s  %-32s  %s\n", c.Verdict, c.Name, c.Seen)
	}
	fmt.Fprintf(&b, "contract: %s\n", contract(r.Contract))
	if contract(r.Possible) != contract(r.Contract) {
		fmt.Fprintf(&b, "possible: %s\n", contract(r.Possible))
	}
	lookup := "must not be relied on"
	if r.Lookup {
		lookup = "may be used"
	}
	fmt.Fprintf(&b, "lookup:   %s\n", lookup)
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "missing:  %s\n", m)
	}
	return b.String()
}

func contract(c receipt.Contract) string {
	switch {
	case c.Safety != receipt.KeyBound:
		return c.Safety.String() + ": nothing may be sent twice"
	case c.Retention == 0:
		return "key-bound, no retention: nothing may be sent twice"
	}
	return "key-bound, retention " + lasting(c.Retention)
}

func lasting(d time.Duration) string {
	if d == receipt.Forever {
		return "for ever"
	}
	return d.String()
}

// conclude derives the contract from the cases. claimed is the service's own word.
func (r *Report) conclude(hasLookup bool, claimed time.Duration) {
	shown, possible := true, true
	for _, name := range []string{SameBytes, OtherBytes, Concurrent, Late, CrashCase} {
		c := r.Case(name)
		switch c.Verdict {
		case Broken:
			shown, possible = false, false
		case NotProbed:
			// A late request is a duplicate like others; holding one only makes
			// the order of things certain.
			shown = shown && name == Late
		}
	}
	expiry := r.Case(Expiry).Verdict
	if possible {
		r.Possible.Safety = receipt.KeyBound
		if expiry != Broken {
			r.Possible.Retention = claimed
		}
	}
	if shown {
		r.Contract.Safety = receipt.KeyBound
		if expiry == Kept {
			r.Contract.Retention = claimed
		}
	}
	r.Lookup = hasLookup
	for _, name := range []string{AfterCommit, UnknownKey} {
		r.Lookup = r.Lookup && r.Case(name).Verdict == Kept
	}
	for _, name := range []string{InFlight, NoAuth, CrashCase} {
		r.Lookup = r.Lookup && r.Case(name).Verdict != Broken
	}
	for _, c := range r.Cases {
		if c.Verdict != Kept {
			r.Missing = append(r.Missing, c.Name+": "+c.Seen)
		}
	}
}
