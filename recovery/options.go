package recovery

import (
	"errors"
	"log/slog"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

// The errors of this package, to be found with errors.Is.
var (
	// ErrFenced says that another owner holds the job: this one must not act on
	// it any more.
	ErrFenced = errors.New("another owner holds the job")
	// ErrBroken says that the histories of one or more jobs break the rules. It
	// comes joined with their errors.
	ErrBroken = errors.New("broken history")
)

// Services finds the service that an intent is for. An error makes every open
// action of that kind HoldUnknown with receipt.ReasonTarget.
type Services func(in intent.Intent) (receipt.Service, error)

// One returns Services for a log whose intents are all for one service.
func One(svc receipt.Service) Services {
	return func(intent.Intent) (receipt.Service, error) { return svc, nil }
}

// Options are the options of [Recover]; nil and zero mean the defaults.
type Options struct {
	// View is what the owner has seen already; nil reads the log from its start.
	View *View
	// TakeOver allows taking the jobs of another worker name. Nil allows none:
	// recovery is then for the worker's own previous lives. A job of a worker
	// that is alive can be taken too; that worker then finds itself fenced.
	TakeOver func(worker string) bool
	// Skip names jobs to leave alone, such as those that run in this process.
	Skip func(job intent.JobID) bool
	// Quarantine sets jobs with a broken history aside, as HoldUnknown with
	// receipt.ReasonHistory, instead of stopping the whole recovery.
	Quarantine bool
	// DryRun claims nothing and appends nothing beyond a store's barriers. Its
	// decisions are only advice: another owner may act at the same time.
	DryRun bool
	// Bookmark is, for each bucket, an offset that the log once acknowledged. A
	// log that ends below it was replaced or rolled back: store.ErrLogRegressed.
	Bookmark []int64

	Limits Limits
	Logger *slog.Logger // nil discards
}

// Limits bound what recovery and calls do; zero means the default.
type Limits struct {
	Parallel     int           // lookups and sends at once, default 8
	Lookup       time.Duration // deadline of one lookup or fence, default 10 s
	Send         time.Duration // deadline of one send, default 30 s
	InFlight     time.Duration // how long to wait for a service that is at work, default 5 s
	MaxSends     int           // sends of one action in one attempt, default 3
	MaxUnsent    int           // tries of a send of which nothing left, default 5
	Backoff      time.Duration // first wait between tries, doubling, with jitter; default 50 ms
	MaxBackoff   time.Duration // longest wait between tries, default 2 s
	ClaimsAtOnce int           // claims in one append, default 4096
}

func (l Limits) withDefaults() Limits {
	def := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	num := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	num(&l.Parallel, 8)
	num(&l.MaxSends, 3)
	num(&l.MaxUnsent, 5)
	num(&l.ClaimsAtOnce, 4096)
	def(&l.Lookup, 10*time.Second)
	def(&l.Send, 30*time.Second)
	def(&l.InFlight, 5*time.Second)
	def(&l.Backoff, 50*time.Millisecond)
	def(&l.MaxBackoff, 2*time.Second)
	return l
}

func loggerOr(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
