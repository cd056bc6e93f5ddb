package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/intentlog/intentlog"
)

// Durable puts a worker below a client: requests of unsafe methods become durable
// intents, and whether one may be sent a second time is the worker's to decide, by
// what is known of its outcome. Name the action of each by intentlog.WithAction. GET
// and HEAD are tried again as before. A request that nobody can know the outcome of
// is an error that errors.As finds a *intentlog.HeldError in.
func Durable(client *retryablehttp.Client, w *intentlog.Worker) {
	client.HTTPClient = &http.Client{Transport: w.Transport(nil)}
	policy := client.CheckRetry
	client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		method := ""
		var failed *url.Error
		switch {
		case errors.As(err, &failed):
			method = strings.ToUpper(failed.Op)
		case resp != nil:
			method = resp.Request.Method
		}
		if method == http.MethodGet || method == http.MethodHead {
			return policy(ctx, resp, err)
		}
		return false, err
	}
}
