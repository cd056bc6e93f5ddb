package intentlog_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store/memstore"
)

// callB posts a body through the transport of a worker, as the one action order/1.
func callB(t *testing.T, w *intentlog.Worker, url string, header http.Header) (*http.Response, string, error) {
	t.Helper()
	ctx := intentlog.WithAction(t.Context(), "order", "order/1")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("B"))
	require.NoError(t, err)
	if header != nil {
		req.Header = header
	}
	resp, err := (&http.Client{Transport: w.Transport(nil)}).Do(req)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body), nil
}

// An older action that is settled on the way gets nothing of the call's own
// headers, and the call gets nothing of that action's answer.
func TestACallsHeadersAndAnswerAreItsOwn(t *testing.T) {
	var up atomic.Bool
	var older atomic.Value // headers of the older action's last request
	s := newWitness(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" {
			older.Store(r.Header)
			if !up.Load() {
				panic(http.ErrAbortHandler)
			}
		}
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "answer to "+r.URL.Path)
	})
	log := memstore.New(1)
	w := open(t, log, "w", s.options())
	j, err := w.Job(t.Context(), "order", &intentlog.JobOptions{ManyActions: true})
	require.NoError(t, err)
	_, err = j.Do(t.Context(), intent.POST("pay", "/b", []byte("B")))
	require.NoError(t, err)
	out, err := j.Do(t.Context(), intent.POST("pay", "/a", []byte("A")))
	require.NoError(t, err)
	require.Equal(t, intentlog.Held, out.Status)
	require.NoError(t, w.Close())

	up.Store(true)
	next := open(t, log.Reopen(), "w", s.options())
	resp, body, err := callB(t, next, s.url+"/b", http.Header{"Authorization": {"Bearer caller-of-b"}, "Content-Encoding": {"zstd"}})
	require.NoError(t, err)
	require.Equal(t, "answer to /b", body)
	require.Equal(t, "confirmed", resp.Header.Get(intentlog.OutcomeHeader))
	require.Len(t, s.requests(), 3, "the older action was settled on the way")
	require.Empty(t, older.Load().(http.Header).Get("Authorization"))
	require.Empty(t, older.Load().(http.Header).Get("Content-Encoding"))
}

// Another owner's receipt settles the action while this call's last answer is a 500.
func TestAnAnswerThatDecidedNothingIsNotHandedOut(t *testing.T) {
	var n atomic.Int64
	begun, again, recorded := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := newWitness(t, func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) {
		case 1:
			close(begun)
			<-again
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, "done")
		case 2:
			close(again)
			<-recorded
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusConflict)
		}
	})
	opts := s.options()
	opts.Limits.MaxSends = 2
	log := memstore.New(1)
	older := open(t, log, "w", opts)
	go func() {
		defer close(recorded)
		_, err := older.Do(context.WithoutCancel(t.Context()), "order", intent.POST("pay", "/b", []byte("B")))
		if err != nil {
			t.Error(err)
		}
	}()
	<-begun
	resp, body, err := callB(t, open(t, log.Reopen(), "w", opts), s.url+"/b", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	require.Equal(t, "done", body)
	require.Equal(t, "confirmed", resp.Header.Get(intentlog.OutcomeHeader))
	require.EqualValues(t, 2, n.Load())
}

// A header map need not be in canonical form; the key is the intent's all the same.
func TestACallerCannotAddAKeyBesideOurs(t *testing.T) {
	var keys atomic.Value
	s := newWitness(t, func(w http.ResponseWriter, r *http.Request) {
		keys.Store(r.Header.Values("Idempotency-Key"))
		w.WriteHeader(http.StatusCreated)
	})
	_, _, err := callB(t, open(t, memstore.New(1), "w", s.options()), s.url+"/b", http.Header{"idempotency-key": {"callers-own"}})
	require.NoError(t, err)
	require.Equal(t, []string{"order/1"}, keys.Load())
}

// Receipts are read by people and programs that know nothing of the caller's encodings.
func TestACompressedAnswerIsReadableNowAndLater(t *testing.T) {
	s := newWitness(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.WriteHeader(http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusCreated)
		z := gzip.NewWriter(w)
		io.WriteString(z, `{"id":"ch_1"}`)
		z.Close()
	})
	w := open(t, memstore.New(1), "w", s.options())
	for _, rebuilt := range []bool{false, true} {
		resp, body, err := callB(t, w, s.url+"/b", http.Header{"Accept-Encoding": {"gzip"}})
		require.NoError(t, err)
		require.Equal(t, `{"id":"ch_1"}`, body)
		require.Empty(t, resp.Header.Get("Content-Encoding"))
		require.Equal(t, rebuilt, resp.Header.Get(intentlog.OutcomeHeader) != "")
	}
	require.Len(t, s.requests(), 1)
}

// A URL tells two targets of one base not apart, and which credentials go with it.
func TestTwoTargetsOfOneBaseAreToldApartByNameOnly(t *testing.T) {
	var tenant atomic.Value
	s := newWitness(t, func(w http.ResponseWriter, r *http.Request) {
		tenant.Store(r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusCreated)
	})
	auth := func(who string) func(*http.Request) error {
		return func(r *http.Request) error { r.Header.Set("Authorization", who); return nil }
	}
	w := open(t, memstore.New(1), "w", &intentlog.Options{Targets: intentlog.Targets{
		"a": {Base: s.url, Auth: auth("a")}, "b": {Base: s.url + "/", Auth: auth("b")},
		"c": {Base: s.url + "/c", Auth: auth("c")},
	}})
	for range 8 { // map order
		_, _, err := callB(t, w, s.url+"/x", nil)
		require.ErrorIs(t, err, intentlog.ErrUnknownTarget)
	}
	require.Empty(t, s.requests())
	for _, target := range []string{"a", "b"} {
		_, err := w.Do(t.Context(), intent.JobID(target), intent.POST(target, "/x", nil))
		require.NoError(t, err)
		require.Equal(t, target, tenant.Load())
	}
	_, _, err := callB(t, w, s.url+"/c/x", nil)
	require.NoError(t, err, "the longest base is one alone")
	require.Equal(t, "c", tenant.Load())
}

func TestTransportRefusesURLsThatCannotBeSaved(t *testing.T) {
	s := newWitness(t, nil)
	log := memstore.New(1)
	opts := s.options()
	opts.Targets["below"] = intentlog.Target{Base: s.url + "/tenant", Contract: receipt.Contract{}}
	w := open(t, log, "w", opts)
	base, err := url.Parse(s.url)
	require.NoError(t, err)
	for name, u := range map[string]url.URL{
		"opaque":            {Opaque: "/v1/refund%2Fx"},
		"a key":             {Path: "/v1", RawQuery: "api_key=hunter2"},
		"a token, later":    {Path: "/v1", RawQuery: "expand=1&access_token=hunter2"},
		"a query of no URL": {Path: "/v1", RawQuery: "api_key=hunter2&name=ü"},
		"dots":              {Path: "/tenant/../admin"},
		"escaped dots":      {Path: "/tenant/../admin", RawPath: "/tenant/%2e%2E/admin"},
	} {
		t.Run(name, func(t *testing.T) {
			u.Scheme, u.Host = base.Scheme, base.Host
			job := intent.JobID(strings.NewReplacer(" ", "-", ",", "").Replace(name))
			ctx := intentlog.WithAction(t.Context(), job, intent.ActionID(job+"/1"))
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader("B"))
			require.NoError(t, err)
			req.URL = &u
			_, err = w.Transport(nil).RoundTrip(req)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2")
			require.Empty(t, types(t, log, job))
		})
	}
	require.Empty(t, s.requests())
}
