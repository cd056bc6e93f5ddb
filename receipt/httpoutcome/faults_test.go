package httpoutcome_test

import (
	"net/http"
	"testing"

	"github.com/intentlog/intentlog/receipt/httpoutcome"
	"github.com/stretchr/testify/require"
)

// fault is one row: something that goes wrong between a client and a server over real sockets.
type fault struct {
	name string
	why  string
	want httpoutcome.Outcome
	// seen is how many complete request heads the server's ledger holds afterwards.
	seen int
	// promised says that the head was seen and given back unprocessed, by the rules of HTTP/2.
	promised bool
	limit    int64
	run      func(w *world) (http.RoundTripper, *http.Request)
}

func TestDo(t *testing.T) {
	rows := append(append(append(connectFaults(), http1Faults()...), http1Answers()...), http2Faults()...)
	require.GreaterOrEqual(t, len(rows), 40)
	names := map[string]bool{}
	for _, row := range rows {
		require.False(t, names[row.name], "two rows named %q", row.name)
		names[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			rt, req := row.run(w)
			res, err := httpoutcome.Do(rt, req, row.limit)
			rt.(*http.Transport).CloseIdleConnections()
			w.settle()
			t.Logf("%s (%s), %d wire attempts: %v", res.Outcome, res.Reason, res.WireAttempts, err)

			require.Equal(t, row.want.String(), res.Outcome.String(), row.why)
			require.Equal(t, row.want == httpoutcome.Answered, err == nil, "an error for each outcome but Answered")
			require.Equal(t, row.want == httpoutcome.Answered, res.Response != nil)
			require.LessOrEqual(t, res.WireAttempts, 1, "one attempt is one wire attempt")
			require.EqualValues(t, row.seen, w.seen.Load(), "heads in the server's ledger: %s", row.why)
			require.LessOrEqual(t, int(w.seen.Load()), res.WireAttempts, "the server cannot see what was not begun")
			if res.Outcome == httpoutcome.NotSent {
				// Soundness, against the ledger: no complete head was seen, or each one was given back.
				require.Zero(t, w.processed.Load(), "NotSent and yet processed: %s", row.why)
				if !row.promised {
					require.Zero(t, w.bytes.Load(), "NotSent and yet bytes arrived: %s", row.why)
				}
			}
		})
	}
}
