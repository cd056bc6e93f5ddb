package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/store/memstore"
)

func TestOneChargeWhereThereWereTwo(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	const want = "durable: false, charges: 2, answer: 200 OK\ndurable: true, charges: 1, answer: 200 OK reconciled\n"
	if out.String() != want {
		t.Fatalf("got %q, want %q", out.String(), want)
	}
}

// A service that can neither be asked nor be trusted with a second send: the caller
// learns that the outcome is unknown, after one request. Reads are tried again.
func TestAnUnknownOutcomeIsHeldAndReadsAreRetried(t *testing.T) {
	calls := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls[r.Method]++; calls[r.Method] == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer srv.Close()
	w, err := intentlog.Open(context.Background(), memstore.New(1), "billing-0", &intentlog.Options{
		Targets: intentlog.Targets{"payments": {Base: srv.URL}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	client := retryablehttp.NewClient()
	client.Logger, client.RetryWaitMin = nil, 1
	Durable(client, w)

	_, err = charge(t.Context(), client, srv.URL)
	var held *intentlog.HeldError
	if !errors.As(err, &held) || calls[http.MethodPost] != 1 {
		t.Fatalf("%v after %d requests", err, calls[http.MethodPost])
	}
	resp, err := client.Get(srv.URL + "/charges")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if calls[http.MethodGet] != 2 {
		t.Fatalf("%d reads", calls[http.MethodGet])
	}
}
