package fluss

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/wire"
)

// Options configure a client. Only Bootstrap is required.
type Options struct {
	// Bootstrap are host:port addresses of any servers of the cluster, tried in order until the cluster is known.
	Bootstrap []string
	// Dial opens connections; nil means a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS, when set, is put on every connection; an empty ServerName means the host of each address. Fluss itself speaks no TLS:
	// something in front of it must.
	TLS *tls.Config
	// Credentials, when set, authenticate every connection by SASL/PLAIN.
	Credentials *Credentials
	// AllowPlaintextCredentials permits to send the password without TLS to addresses that are not loopback.
	AllowPlaintextCredentials bool
	// AllowAddr, when set, is asked before an address that the cluster named is dialled. Bootstrap addresses are not asked about.
	AllowAddr func(addr string) error

	// ConnectTimeout bounds dialling, negotiation and authentication together; 0 means 10 s.
	ConnectTimeout time.Duration
	// RequestTimeout bounds one request on one connection; 0 means 15 s. The server is told to wait for replicas two thirds of it.
	RequestTimeout time.Duration
	// RetryTimeout bounds a call with all of its retries, also when its context has no deadline; 0 means 60 s.
	RetryTimeout time.Duration
	// ProgressTimeout is how long a bounded read may stand still; 0 means 15 s.
	ProgressTimeout time.Duration

	// MaxFrame is the largest frame in bytes that is sent or accepted; 0 means 64 MiB.
	MaxFrame int
	// MaxBatchBytes is the size in bytes at which a batch takes no further calls; 0 means 1 MiB.
	MaxBatchBytes int
	// FetchBytes is how much one fetch asks for; 0 means 2 MiB.
	FetchBytes int
	// FetchWait is how long the server holds an answer back while there is nothing to read; 0 means 100 ms. With one replica a
	// server sleeps all of it, even when rows arrive.
	FetchWait time.Duration

	// Logger is told of reconnects, retries and discarded writers; nil means silence.
	Logger *slog.Logger
}

func (o Options) withDefaults() *Options {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	setDefault(&o.ConnectTimeout, 10*time.Second)
	setDefault(&o.RequestTimeout, 15*time.Second)
	setDefault(&o.RetryTimeout, 60*time.Second)
	setDefault(&o.ProgressTimeout, 15*time.Second)
	setDefault(&o.MaxFrame, wire.DefaultMaxFrame)
	setDefault(&o.MaxBatchBytes, 1<<20)
	setDefault(&o.FetchBytes, 2<<20)
	setDefault(&o.FetchWait, 100*time.Millisecond)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &o
}

func setDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// serverWait is the timeout_ms of appends and puts: shorter than our own, so that the server's verdict arrives before we stop waiting.
func (o *Options) serverWait() int32 {
	return int32(min(o.RequestTimeout*2/3, time.Hour).Milliseconds())
}
