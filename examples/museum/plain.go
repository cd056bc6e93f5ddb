package main

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// tries is how often the contenders send before they give up.
const tries = 3

// plain is net/http with a loop around it: an error or a 5xx is tried again.
func plain(ctx context.Context, e errand) error {
	client := &http.Client{Timeout: e.Patience}
	e.each(func(job string) (says, why string) {
		req, err := e.request(ctx, job)
		if err != nil {
			return failed, err.Error()
		}
		for n := range tries {
			if n > 0 {
				time.Sleep(10 * time.Millisecond)
			}
			again := req.Clone(ctx)
			if again.Body, err = req.GetBody(); err != nil {
				return failed, err.Error()
			}
			err = verdict(client.Do(again))
			switch {
			case err == nil:
				return done, ""
			case errors.Is(err, errPermanent):
				return failed, err.Error()
			case !e.Look:
				continue
			}
			switch known, lerr := e.ask(ctx, job); {
			case lerr != nil:
				return failed, lerr.Error()
			case known:
				return done, ""
			}
		}
		return failed, err.Error()
	})
	return nil
}
