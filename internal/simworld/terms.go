package simworld

import (
	"time"

	"github.com/intentlog/intentlog/receipt"
)

// Terms are what a service does, what the user declares about it, and how the
// worker meets it.
type Terms struct {
	Name     string
	Contract receipt.Contract // Fence is filled in by the world

	Dedup     bool          // one effect per key
	Retention time.Duration // how long a key is kept; 0 is for ever
	Late      time.Duration // how far the service's clock is behind the log's
	Lag       int           // how many lookups after a commit do not see it
	NoLookup  bool
	Barriers  bool // the log learns its bound by appending a barrier, as Fluss does

	Wait time.Duration // what passes before each further life
	Rest time.Duration // what passes before each recovery once faults have stopped
	// Settles says that once faults stop nothing stays held.
	Settles bool
}

var (
	keyBound = receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever}
	notAfter = receipt.Contract{Safety: receipt.NotAfter, Window: time.Minute, Skew: 10 * time.Second}
	expiring = receipt.Contract{Safety: receipt.KeyBound, Retention: 10 * time.Minute, Margin: time.Minute}
)

// The honest services.
var (
	KeyBound  = Terms{Name: "key-bound", Contract: keyBound, Dedup: true, Settles: true}
	Barriers  = Terms{Name: "key-bound-barriers", Contract: keyBound, Dedup: true, Settles: true, Barriers: true}
	NoLookup  = Terms{Name: "key-bound-no-lookup", Contract: keyBound, Dedup: true, Settles: true, NoLookup: true}
	Lagging   = Terms{Name: "key-bound-lagging", Contract: keyBound, Dedup: true, Settles: true, Lag: 2}
	Fenced    = Terms{Name: "fenced", Contract: receipt.Contract{Safety: receipt.Fenced}, Settles: true}
	NotAfter  = Terms{Name: "not-after", Contract: notAfter, Late: 10 * time.Second, Wait: 65 * time.Second, Rest: 2 * time.Minute, Settles: true}
	Overdue   = Terms{Name: "not-after-overdue", Contract: notAfter, Late: 10 * time.Second, Wait: 2 * time.Minute, Rest: 2 * time.Minute, Settles: true}
	None      = Terms{Name: "none"}
	LagNone   = Terms{Name: "none-lagging", Lag: 2}
	Expiring  = Terms{Name: "expiring", Contract: expiring, Dedup: true, Retention: 10 * time.Minute, Wait: 4 * time.Minute}
	Forgotten = Terms{Name: "expired", Contract: expiring, Dedup: true, Retention: 10 * time.Minute, Wait: 11 * time.Minute}
)

// Honest lists the services that keep what is declared about them.
var Honest = []Terms{KeyBound, Barriers, NoLookup, Lagging, Fenced, NotAfter, Overdue, None, LagNone, Expiring, Forgotten}

// The services that break what is declared about them. A checker that does not
// see what comes of it is no checker.
var (
	FalseKeys     = Terms{Name: "lie-keys", Contract: keyBound}                                                  // no key is bound
	FalseFence    = Terms{Name: "lie-fence", Contract: receipt.Contract{Safety: receipt.Fenced}}                 // the world's fence does nothing
	FalseDeadline = Terms{Name: "lie-deadline", Contract: notAfter, Late: 24 * time.Hour, Wait: 2 * time.Minute} // deadlines are not kept
	FalseLookup   = Terms{Name: "lie-lookup", Contract: receipt.Contract{Safety: receipt.Fenced}, Lag: 9}        // absent, though it is there
	Forgetful     = Terms{Name: "lie-retention", Contract: keyBound, Dedup: true, Retention: time.Minute, Wait: 2 * time.Minute}
)

// Lies lists them.
var Lies = []Terms{FalseKeys, FalseFence, FalseDeadline, FalseLookup, Forgetful}
