package flussstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/intentlog/intentlog/internal/fluss"
)

// The names of the database and of the tables unless Options say otherwise.
const (
	DefaultDatabase = "intentlog"
	DefaultTable    = "job_events"
)

// Format is how Fluss encodes the rows of the log. The zero Format is Arrow.
type Format uint8

// The formats.
const (
	// Arrow is uncompressed ARROW: every reader of the ecosystem gets it right.
	Arrow Format = iota
	// Indexed is smaller and faster for single rows. WARNING: the Java client and
	// the Flink connector of the 1.0 line return corrupted rows of such tables,
	// silently, and the Python and Rust clients refuse to read them and corrupt
	// them by writing. Use it only where nothing but this library touches the table.
	Indexed
)

func (f Format) String() string {
	if f == Indexed {
		return "indexed"
	}
	return "arrow"
}

// Password is a secret that does not print.
type Password = fluss.Password

// Options are the options of [Open]; nil and zero mean the defaults.
type Options struct {
	Database string // default DefaultDatabase
	Table    string // default DefaultTable

	// Create creates the database and the table where they do not exist. A table
	// that exists is validated, never changed.
	Create   bool
	Buckets  int    // of a table that is created; default 1
	Replicas int    // of a table that is created; default the cluster's
	Format   Format // of a table that is created

	// Require refuses a log that promises less than this. Zero fields require
	// nothing. What cannot be verified counts as not met.
	Require Durability

	// User and Password authenticate by SASL/PLAIN. Without TLS they are sent to
	// loopback addresses only, unless AllowPlaintextCredentials is set.
	User                      string
	Password                  Password
	AllowPlaintextCredentials bool
	// TLS is put on every connection. Fluss speaks no TLS itself: something in
	// front of it must.
	TLS *tls.Config
	// Dial opens connections; nil means a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// AllowAddr is asked before an address is dialled that the cluster named;
	// nil allows all.
	AllowAddr func(addr string) error

	// Timeout bounds a call with all its retries, also where its context has no
	// deadline. Default 60 s.
	Timeout time.Duration
	// ProgressTimeout is how long a read may stand still. Default 15 s.
	ProgressTimeout time.Duration

	Logger *slog.Logger // nil discards
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Database == "" {
		out.Database = DefaultDatabase
	}
	if out.Table == "" {
		out.Table = DefaultTable
	}
	if out.Buckets == 0 {
		out.Buckets = 1
	}
	if out.Timeout <= 0 {
		out.Timeout = time.Minute
	}
	return out
}

// Durability is what the cluster promises about an acknowledged append.
type Durability struct {
	Replicas int // copies of each record
	MinISR   int // copies that must have a record before it is acknowledged
	// FlushEvery is after how many records a server flushes its log to disk;
	// 0 means that it leaves that to the operating system.
	FlushEvery int64
	// Verified says that MinISR and FlushEvery were read from the cluster. Where
	// the right to describe the cluster is missing they are its defaults.
	Verified bool
}

// String tells the promise in one line.
func (d Durability) String() string {
	flush := "never by count"
	if d.FlushEvery > 0 {
		flush = fmt.Sprintf("every %d records", d.FlushEvery)
	}
	return fmt.Sprintf("%d replicas, at least %d in sync, flushed %s, verified: %t", d.Replicas, d.MinISR, flush, d.Verified)
}

// weaker is what both promise.
func (d Durability) weaker(e Durability) Durability {
	d.Replicas, d.MinISR = min(d.Replicas, e.Replicas), min(d.MinISR, e.MinISR)
	if e.FlushEvery == 0 || d.FlushEvery == 0 {
		d.FlushEvery = 0
	} else {
		d.FlushEvery = max(d.FlushEvery, e.FlushEvery)
	}
	d.Verified = d.Verified && e.Verified
	return d
}

// meets reports what is missing.
func (d Durability) meets(want Durability) error {
	var missing []error
	if d.Replicas < want.Replicas {
		missing = append(missing, fmt.Errorf("%d replicas, required %d", d.Replicas, want.Replicas))
	}
	if d.MinISR < want.MinISR {
		missing = append(missing, fmt.Errorf("%d in-sync replicas at least, required %d", d.MinISR, want.MinISR))
	}
	if want.FlushEvery > 0 && (d.FlushEvery == 0 || d.FlushEvery > want.FlushEvery) {
		missing = append(missing, fmt.Errorf("flushed every %d records (0 is never), required every %d", d.FlushEvery, want.FlushEvery))
	}
	if (want.MinISR > 1 || want.FlushEvery > 0 || want.Verified) && !d.Verified {
		missing = append(missing, errors.New("the cluster's settings could not be read"))
	}
	return errors.Join(missing...)
}

// The options of a cluster that a promise rests on, and their defaults.
const (
	settingMinISR = "log.replica.min-in-sync-replicas-number"
	settingFlush  = "log.flush.interval-messages"
)

// durability reads the promise out of a table's and a cluster's settings; nil
// settings could not be read.
func durability(info tableInfo, settings map[string]string) Durability {
	d := Durability{Replicas: info.replicas, MinISR: 1, Verified: settings != nil}
	if n, err := strconv.Atoi(settings[settingMinISR]); err == nil {
		d.MinISR = n
	}
	if n, err := strconv.ParseInt(settings[settingFlush], 10, 64); err == nil && n < 1<<62 {
		d.FlushEvery = n
	}
	return d
}
