package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
	"github.com/intentlog/intentlog/store"
)

const ticket intent.JobID = "ticket-1042"

// tickets is the other service: it keeps a receipt of each effect. died, when set, is
// called after an effect, before its answer leaves.
type tickets struct {
	receipts map[intent.ActionID]*receipt.Receipt
	died     func()
}

func (s *tickets) send(ctx context.Context, r receipt.Request) (receipt.Answer, error) {
	got := &receipt.Receipt{Action: r.Intent.Action, Digest: r.Digest, Reference: "followup-7"}
	s.receipts[r.Intent.Action] = got
	if s.died != nil {
		s.died()
		return receipt.Answer{}, ctx.Err()
	}
	return receipt.Answer{Result: receipt.Accepted, Receipt: got}, nil
}

func (s *tickets) lookup(_ context.Context, r receipt.Request) (receipt.Finding, error) {
	if got := s.receipts[r.Intent.Action]; got != nil {
		return receipt.Found(got), nil
	}
	return receipt.NotFound(), nil
}

// crashB2 lets a worker come to its end when its effect exists and the log does not know
// that yet, and another life of it recover the job. examples/crash does the same with
// real processes.
func crashB2(ctx context.Context, st store.Store) error {
	service := &tickets{receipts: map[intent.ActionID]*receipt.Receipt{}}
	life := func(ctx context.Context, work func(*intentlog.Worker) error) error {
		w, err := intentlog.Open(ctx, st, "tickets-0", &intentlog.Options{Service: receipt.Service{
			Sender: receipt.SenderFunc(service.send), Lookup: receipt.LookupFunc(service.lookup),
			Contract: receipt.Contract{Safety: receipt.KeyBound, Retention: receipt.Forever},
		}})
		if err != nil {
			return err
		}
		return errors.Join(work(w), w.Close())
	}
	dying, die := context.WithCancel(ctx)
	defer die()
	service.died = die
	err := life(dying, func(w *intentlog.Worker) error {
		j, err := w.Job(dying, ticket, nil)
		if err != nil {
			return err
		}
		defer j.Close()
		classify := func(context.Context) ([]byte, error) { return []byte("needs-followup"), nil }
		if _, err := j.Compute(dying, "classify", classify); err != nil {
			return err
		}
		_, err = j.Do(dying, intent.New(intent.ActionID(ticket)+"/followup", []byte(`{"outcome":"needs-followup"}`)))
		return err
	})
	if dying.Err() == nil || ctx.Err() != nil {
		return fmt.Errorf("the worker did not die: %w", err)
	}
	service.died = nil
	return life(ctx, func(w *intentlog.Worker) error {
		_, err := w.Recover(ctx)
		return err
	})
}
