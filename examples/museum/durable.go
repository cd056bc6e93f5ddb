package main

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/sharedlog"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/recovery"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

// durable is intentlog on its embedded log. What it declares about the shop is what
// is true of it: whether it honours keys and how long, and whether it can be asked.
func durable(ctx context.Context, e errand) error {
	st, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	w, err := intentlog.Open(ctx, spoiled{st, e.Spoil}, "shop-"+e.Executor, &intentlog.Options{
		Targets: intentlog.Targets{"shop": e.target()},
		Limits:  recovery.Limits{Send: e.Patience},
	})
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Recover(ctx); err != nil {
		return err
	}
	e.each(func(job string) (says, why string) {
		action := intent.ActionID(job)
		if e.Operator {
			err := w.Resolve(ctx, intent.JobID(job), action, intent.Resolution{
				Decision: intent.ResolveConfirm, By: "museum", Reason: "the order is in the shop's ledger",
			})
			if err != nil {
				return "", err.Error()
			}
		}
		out, err := w.Do(ctx, intent.JobID(job), intent.POST("shop", "/orders", []byte(body(job))).WithAction(action))
		switch {
		case err != nil:
			return "", err.Error()
		case out.Status == intentlog.Held:
			return held, string(out.Reason)
		case out.Status == intentlog.Rejected:
			return failed, out.Message
		}
		return done, out.Status.String()
	})
	return nil
}

// open opens the embedded log, or the one that the museum serves to several processes.
func (e errand) open(ctx context.Context) (store.Store, error) {
	if e.Log != "" {
		return sharedlog.Dial(ctx, e.Log)
	}
	return sqlitestore.Open(filepath.Join(e.Dir, logFile), nil)
}

const logFile = "intents.db"

func (e errand) target() intentlog.Target {
	t := intentlog.Target{Base: e.Shop, Auth: func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+e.Token)
		return nil
	}}
	if e.Keys {
		t.Contract = receipt.Contract{Safety: receipt.KeyBound, Retention: e.Retains}
	}
	if e.Lookup {
		t.Lookup = receipt.HTTPLookup{URL: func(r receipt.Request) string {
			return e.Shop + "/receipts/" + string(r.Intent.Action)
		}}
	}
	return t
}

// spoiled is a log that cannot take the outcome of an action.
type spoiled struct {
	store.Store
	on bool
}

func (s spoiled) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	for _, ev := range events {
		if s.on && ev.Type == intent.ActionConfirmed {
			return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: errors.New("no space left")}
		}
	}
	return s.Store.Append(ctx, bucket, events)
}
