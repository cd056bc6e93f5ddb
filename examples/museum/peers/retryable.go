package main

import (
	"context"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// retryable is hashicorp/go-retryablehttp with its own policy: it sends again after
// an error of the connection and after a 5xx. Only the waits are shorter here.
func retryable(ctx context.Context, e errand) error {
	e.each(func(job string) (says, why string) {
		client := retryablehttp.NewClient()
		client.Logger = nil
		client.RetryMax, client.RetryWaitMin, client.RetryWaitMax = 2, 10*time.Millisecond, 20*time.Millisecond
		client.HTTPClient = &http.Client{Transport: http.DefaultTransport, Timeout: e.Patience}
		known := false
		if e.Look {
			// The documented place for code that decides about a retry.
			client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
				again, why := retryablehttp.DefaultRetryPolicy(ctx, resp, err)
				if !again {
					return false, why
				}
				if known, err = e.ask(ctx, job); err != nil {
					return false, err
				}
				return !known, nil
			}
		}
		req, err := e.request(ctx, job)
		if err != nil {
			return failed, err.Error()
		}
		again, err := retryablehttp.FromRequest(req)
		if err != nil {
			return failed, err.Error()
		}
		if err := verdict(client.Do(again)); err != nil && !known {
			return failed, err.Error()
		}
		return done, ""
	})
	return nil
}
