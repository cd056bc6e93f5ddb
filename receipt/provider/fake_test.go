package provider_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentlog/intentlog/receipt/provider"
)

// said is an answer on the wire.
type said struct {
	status int
	header string // "Name: value", or nothing
	body   string
}

func (s said) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if name, value, ok := strings.Cut(s.header, ": "); ok {
		w.Header().Set(name, value)
	}
	w.WriteHeader(s.status)
	io.WriteString(w, s.body)
}

// dialect is how one provider documents its answers.
type dialect struct {
	profile  provider.Profile
	key      func(r *http.Request, body []byte) string // what the fake takes for the key
	ok       string                                    // body of the effect's answer, with its number
	busy     said                                      // a request while the first is under way
	mismatch said                                      // another payload under the key; zero: the first answer again
}

func inHeader(name string) func(*http.Request, []byte) string {
	return func(r *http.Request, _ []byte) string { return r.Header.Get(name) }
}

// inQuotes takes a structured-field string and nothing else.
func inQuotes(r *http.Request, _ []byte) string {
	v := r.Header.Get("Idempotency-Key")
	if len(v) < 3 || v[0] != '"' || v[len(v)-1] != '"' {
		return ""
	}
	return v[1 : len(v)-1]
}

func inBody(_ *http.Request, body []byte) string {
	var doc struct {
		Key string `json:"idempotency_key"`
	}
	_ = json.Unmarshal(body, &doc)
	return doc.Key
}

func dialects() []dialect {
	return []dialect{
		{
			profile: provider.Stripe(), key: inHeader("Idempotency-Key"), ok: `{"id":"pi_%d","object":"payment_intent"}`,
			busy:     said{409, "", `{"error":{"type":"invalid_request_error","code":"idempotency_key_in_use"}}`},
			mismatch: said{400, "", `{"error":{"type":"idempotency_error","message":"Keys can only be used with the same parameters"}}`},
		},
		{
			profile: provider.PayPalOrders(), key: inHeader("PayPal-Request-Id"), ok: `{"id":"5O%d","status":"CREATED"}`,
			busy: said{409, "", `{"name":"RESOURCE_CONFLICT","details":[{"issue":"PREVIOUS_REQUEST_IN_PROGRESS"}]}`},
		},
		{
			profile: provider.PayPalPayments(), key: inHeader("PayPal-Request-Id"), ok: `{"id":"2GG%d","status":"COMPLETED"}`,
			busy: said{409, "", `{"name":"RESOURCE_CONFLICT","details":[{"issue":"PREVIOUS_REQUEST_IN_PROGRESS"}]}`},
		},
		{
			profile: provider.Square(), key: inBody, ok: `{"payment":{"id":"bP%d","status":"COMPLETED"}}`,
			busy:     said{409, "", `{"errors":[{"category":"API_ERROR","code":"CONFLICT"}]}`},
			mismatch: said{400, "", `{"errors":[{"category":"INVALID_REQUEST_ERROR","code":"IDEMPOTENCY_KEY_REUSED"}]}`},
		},
		{
			profile: provider.Adyen(), key: inHeader("Idempotency-Key"), ok: `{"pspReference":"88%d","resultCode":"Authorised"}`,
			busy: said{422, "transient-error: true", `{"status":422,"errorCode":"704","message":"request already processed or in progress"}`},
		},
		{
			profile: provider.IETF(48 * time.Hour), key: inQuotes, ok: `{"id":%d}`,
			busy:     said{409, "", `{"title":"A request is outstanding for this Idempotency-Key"}`},
			mismatch: said{422, "", `{"title":"Idempotency-Key is already used"}`},
		},
		{
			profile: provider.Generic(), key: inHeader("Idempotency-Key"), ok: `{"id":%d}`,
			busy: said{409, "", ``}, mismatch: said{409, "", ``},
		},
	}
}

// fake is a provider that behaves as documented, and an independent ledger of what
// it did.
type fake struct {
	dialect
	retention time.Duration // as the fake keeps its keys
	url       string

	mu      sync.Mutex
	now     time.Time
	kept    map[string]*entry
	effects []string // the ledger: one payload per effect
	keys    []string // of every request that arrived
	drop    int      // so many answers are lost after they were kept
	slow    bool     // the next effect is still under way when its connection is cut
}

type entry struct {
	payload string
	at      time.Time
	busy    bool
	answer  said
}

func newFake(t *testing.T, d dialect) *fake {
	f := &fake{dialect: d, retention: d.profile.Contract.Retention, kept: map[string]*entry{}, now: time.Unix(1_800_000_000, 0)}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

func (f *fake) nowMS() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now.UnixMilli()
}

func (f *fake) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// set changes the fake's behaviour.
func (f *fake) set(drop int, slow bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop, f.slow = drop, slow
}

// seen returns what the ledger and the requests show.
func (f *fake) seen() (effects, keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.effects...), append([]string(nil), f.keys...)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	key := f.key(r, body)
	f.keys = append(f.keys, key)
	if key == "" {
		said{400, "", `{"title":"Idempotency-Key is missing"}`}.write(w)
		return
	}
	e := f.kept[key]
	switch {
	case e != nil && f.retention > 0 && f.now.Sub(e.at) > f.retention:
		e = nil // pruned: a new request
	case e != nil && e.busy:
		e.busy = false // it ends now; this request came too early
		f.busy.write(w)
		return
	case e != nil && e.payload != string(body) && f.mismatch.status != 0:
		f.mismatch.write(w)
		return
	}
	if e == nil {
		f.effects = append(f.effects, string(body))
		e = &entry{payload: string(body), at: f.now, busy: f.slow, answer: said{200, "", fmt.Sprintf(f.ok, len(f.effects))}}
		f.kept[key] = e
		f.slow = false
		if e.busy {
			panic(http.ErrAbortHandler)
		}
	}
	if f.drop > 0 {
		f.drop--
		panic(http.ErrAbortHandler)
	}
	e.answer.write(w)
}
