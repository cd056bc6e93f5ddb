package fluss

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// Password is a secret that does not print: every fmt verb, slog and encoding/json show a fixed text.
type Password string

const redacted = "[redacted]"

// String hides the password.
func (Password) String() string { return redacted }

// GoString hides the password from %#v.
func (Password) GoString() string { return redacted }

// Format hides the password from every verb.
func (Password) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(redacted)) }

// MarshalText hides the password from text and JSON encoders.
func (Password) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Credentials are a user and a password for SASL/PLAIN. They cross the wire in clear: see Options.AllowPlaintextCredentials.
type Credentials struct {
	User     string
	Password Password
}

// agree settles the versions of all APIs and authenticates when credentials are given. Until it returns nobody else uses the connection.
func (c *conn) agree(ctx context.Context, o *Options) error {
	c.versions = map[msg.Key]int16{msg.KeyApiVersions: 0, msg.KeyAuthenticate: 0}
	var have msg.ApiVersionsResponse
	err := c.roundTrip(ctx, &msg.ApiVersionsRequest{Software: "intentlog", Version: "1"}, &have)
	if err != nil {
		return fmt.Errorf("negotiate versions: %w", err)
	}
	versions := map[msg.Key]int16{}
	for _, v := range have.APIs {
		if ours, ok := v.Key.MaxVersion(); ok && v.Min <= int32(ours) && v.Max >= 0 {
			versions[v.Key] = int16(min(int32(ours), v.Max))
		}
	}
	if o.Credentials != nil {
		if err := c.authenticate(ctx, o); err != nil {
			return err
		}
	}
	c.versions = versions
	return nil
}

const authAttempts = 5

func (c *conn) authenticate(ctx context.Context, o *Options) error {
	if o.TLS == nil && !o.AllowPlaintextCredentials && !c.loopback() {
		return fmt.Errorf("%w: %s", ErrPlaintextCredentials, c.addr)
	}
	token := []byte("\x00" + o.Credentials.User + "\x00" + string(o.Credentials.Password))
	for attempt := 1; ; attempt++ {
		var done msg.AuthenticateResponse
		err := c.roundTrip(ctx, &msg.AuthenticateRequest{Protocol: "PLAIN", Token: token}, &done)
		switch {
		case err == nil && len(done.Challenge) > 0:
			return fmt.Errorf("%w: PLAIN has no challenge", ErrProtocol)
		case err == nil:
			return nil
		case CodeOf(err) != msg.RetriableAuthenticate || attempt == authAttempts:
			return fmt.Errorf("authenticate as %q: %w", o.Credentials.User, err)
		}
		if err := sleep(ctx, 100*time.Millisecond<<(attempt-1)); err != nil {
			return err
		}
	}
}

// loopback reports whether the peer is this machine, by the name that was dialled and by the address that was reached.
func (c *conn) loopback() bool {
	host, _, err := net.SplitHostPort(c.addr)
	if err != nil {
		return false
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return false
	}
	tcp, ok := c.nc.RemoteAddr().(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
