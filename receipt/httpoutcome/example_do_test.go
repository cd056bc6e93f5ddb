package httpoutcome_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/intentlog/intentlog/receipt/httpoutcome"
)

// A service that commits and then loses its answer; and one that is down. Only the second may simply be asked again.
func ExampleDo() {
	var charges atomic.Int32
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		charges.Add(1)
		if r.URL.Path == "/lost" {
			panic(http.ErrAbortHandler) // the connection is cut before the answer
		}
		w.WriteHeader(http.StatusCreated)
	}))
	post := func(path string) {
		req, _ := http.NewRequest(http.MethodPost, service.URL+path, strings.NewReader("amount=1799"))
		req.Header.Set("Idempotency-Key", "order-1729/charge")
		res, err := httpoutcome.Do(nil, req, 1<<20)
		fmt.Printf("%s: %s, error %t, charges %d\n", path, res.Outcome, err != nil, charges.Load())
	}
	post("/answered")
	post("/lost")
	service.Close()
	post("/down")
	// Output:
	// /answered: answered, error false, charges 1
	// /lost: unknown, error true, charges 2
	// /down: not sent, error true, charges 2
}

// Where something else must call the transport, Begin and Finish are the two halves of Do.
func ExampleBegin() {
	service := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	defer service.Close()
	req, _ := http.NewRequest(http.MethodPost, service.URL, strings.NewReader("amount=1799"))
	attempt, err := httpoutcome.Begin(req)
	if err != nil {
		fmt.Println(httpoutcome.NotSent, err)
		return
	}
	resp, err := http.DefaultTransport.RoundTrip(attempt.Request())
	res, err := attempt.Finish(resp, err, 0)
	fmt.Println(res.Outcome, res.Response.StatusCode, res.WireAttempts, err)
	// Output: answered 307 1 <nil>
}
