package intentlog_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store/memstore"
)

// witness keeps each request that reaches a server.
type witness struct {
	url    string
	answer http.HandlerFunc // nil: 201

	mu   sync.Mutex
	seen []string // key, path and body
}

func newWitness(t *testing.T, answer http.HandlerFunc) *witness {
	s := &witness{answer: answer}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *witness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.seen = append(s.seen, fmt.Sprintf("%s %s %s", r.Header.Get("Idempotency-Key"), r.RequestURI, body))
	s.mu.Unlock()
	if s.answer != nil {
		s.answer(w, r)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func (s *witness) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// options let a key-bound service be asked by nobody but a repetition.
func (s *witness) options() *intentlog.Options {
	return &intentlog.Options{
		Limits: recovery.Limits{MaxSends: 1},
		Targets: intentlog.Targets{"pay": {
			Base: s.url, Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever},
		}},
	}
}

// TestARetryIsTheSameRequest is S8: saved bytes go out as they are, in every life,
// whatever a JSON library would make of them.
func TestARetryIsTheSameRequest(t *testing.T) {
	var up atomic.Bool
	s := newWitness(t, func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
	})
	const odd = "{ \"b\": 1.50, \"a\" :1e2, \"big\": 12345678901234567890,\t\"a\": \"\\u00e9<\" }\n"
	log := memstore.New(1)
	out, err := open(t, log, "w", s.options()).Do(t.Context(), "order", intent.POST("pay", "/v1/charges?x=%2F", []byte(odd)))
	require.NoError(t, err)
	require.Equal(t, intentlog.Held, out.Status)
	up.Store(true)
	report, err := open(t, log.Reopen(), "w", s.options()).Recover(t.Context())
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, report.Outcomes[0].Status)
	want := "order/1 /v1/charges?x=%2F " + odd
	require.Equal(t, []string{want, want}, s.requests())
}

// TestALogCannotChooseTheHost is S5: whoever writes to the log, an intent reaches
// registered targets only, below their base.
func TestALogCannotChooseTheHost(t *testing.T) {
	s := newWitness(t, nil)
	host := strings.TrimPrefix(s.url, "http://")
	for name, detail := range map[string]string{
		"a URL as the path":       "intentlog/1 POST pay http://169.254.169.254/latest\n\n",
		"another host by slashes": "intentlog/1 POST pay //" + host + "/steal\n\n",
		"another host by user":    "intentlog/1 POST pay @" + host + "/steal\n\n",
		"a path with a space":     "intentlog/1 POST pay / steal\n\n",
		"a header injected":       "intentlog/1 POST pay /\nX: a\r\nEvil: b\n\n",
		"a credential injected":   "intentlog/1 POST pay /\nAuthorization: Bearer evil\n\n",
		"a URL as the target":     "intentlog/1 POST http://" + host + " /steal\n\n",
		"an unknown target":       "intentlog/1 POST admin /steal\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			log := memstore.New(1)
			owner, err := intent.NewOwner("w")
			require.NoError(t, err)
			forged := []intent.Event{
				{JobID: "j", EventID: intent.NewEventID("j", 1, owner.ID, 1), Attempt: 1, Step: 1, Type: intent.Started, Detail: `{"worker":"w","single":true}`},
				{
					JobID: "j", EventID: intent.NewEventID("j", 1, owner.ID, 2), Attempt: 1, Step: 2, Type: intent.ActionRequested,
					ActionID: "j/1", PayloadDigest: intent.DigestOf(nil), Detail: detail,
				},
			}
			_, err = log.Append(t.Context(), 0, forged)
			require.NoError(t, err)
			opts := s.options()
			opts.Targets["pay"] = intentlog.Target{Base: "http://127.0.0.1:1", Contract: opts.Targets["pay"].Contract}
			report, err := open(t, log, "w", opts).Recover(t.Context())
			if err == nil {
				require.Equal(t, intentlog.Held, report.Outcomes[0].Status)
				require.Equal(t, receipt.ReasonTarget, report.Outcomes[0].Reason)
			} else {
				require.ErrorIs(t, err, recovery.ErrBroken)
			}
			require.Empty(t, s.requests())
		})
	}
}

// TestARedirectIsNotFollowed is S5 too: what a service answers sends nobody anywhere.
func TestARedirectIsNotFollowed(t *testing.T) {
	other := newWitness(t, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := newWitness(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.url+"/steal")
			w.WriteHeader(status)
		})
		out, err := open(t, memstore.New(1), "w", s.options()).Do(t.Context(), "order", payOne)
		require.NoError(t, err)
		require.Equal(t, intentlog.Held, out.Status, "%d", status)
		require.Len(t, s.requests(), 1)
	}
	require.Empty(t, other.requests())
}

// TestAnAnswerThatIsTooLargeIsALostAnswer is S11 for what services answer.
func TestAnAnswerThatIsTooLargeIsALostAnswer(t *testing.T) {
	s := newWitness(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, strings.Repeat("x", 1001))
	})
	opts := s.options()
	target := opts.Targets["pay"]
	target.MaxResponse = 1000
	opts.Targets["pay"] = target
	w := open(t, memstore.New(1), "w", opts)
	out, err := w.Do(t.Context(), "order", payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Held, out.Status)
	target.MaxResponse = 1001
	opts.Targets["pay"] = target
	out, err = w.Do(t.Context(), "another", payOne)
	require.NoError(t, err)
	require.Equal(t, intentlog.Confirmed, out.Status, out.Message)
}
