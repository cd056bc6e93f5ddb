package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
)

func list(ctx context.Context, c *call) error {
	return with(ctx, c, false, func(st store.Store) error {
		s, err := fold(ctx, st)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "JOB\tWORKER\tATTEMPT\tACTION\tSTATUS\tREASON\tAGE")
		for _, job := range slices.Sorted(maps.Keys(s.open)) {
			h := s.open[job]
			action, status, reason, age := intent.ActionID("-"), "no action", "-", time.Duration(0)
			if n := len(h.Actions); n > 0 {
				a := h.Actions[n-1]
				action, status = a.ID, a.Status.String()
				reason = cmp.Or(a.Reason.Reason, "-")
				age = time.Duration(s.nowMS-a.Requested.CommitMS) * time.Millisecond
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", job, h.Claim.Worker, h.Attempt, action, status, reason, age.Round(time.Second))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%d open, %d completed\n", len(s.open), s.done)
		return errors.Join(s.broken...)
	})
}

func trace(ctx context.Context, c *call) error {
	job, err := intent.ParseJobID(c.args[0])
	if err != nil {
		return err
	}
	return with(ctx, c, false, func(st store.Store) error {
		var found []store.Record
		_, err := each(ctx, st, func(_ int, r *store.Record) error {
			if r.Event.JobID == job {
				found = append(found, *r)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no events of job %q", job)
		}
		slices.SortStableFunc(found, func(a, b store.Record) int {
			return cmp.Or(cmp.Compare(a.Event.Attempt, b.Event.Attempt), cmp.Compare(a.Event.Step, b.Event.Step))
		})
		w := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "ATTEMPT\tSTEP\tEVENT\tACTION\tOFFSET\tCOMMITTED\tOWNER\tWHY")
		for _, r := range found {
			action := cmp.Or(r.Event.ActionID, "-")
			committed := time.UnixMilli(r.CommitMS).UTC().Format(time.RFC3339)
			fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%d\t%s\t%s\t%s\n", r.Event.Attempt, r.Event.Step, r.Event.Type, action, r.Offset,
				committed, r.Event.Owner(), why(&r.Event))
		}
		return w.Flush()
	})
}

// why shows the small record that tells the reason of an event. Requests and
// receipts, which hold payloads, are not shown.
func why(ev *intent.Event) string {
	switch ev.Type {
	case intent.HoldUnknown, intent.ActionRejected, intent.HoldResolved:
		return strconv.QuoteToGraphic(ev.Detail)
	}
	return "-"
}

func verify(ctx context.Context, c *call) error {
	return with(ctx, c, false, func(st store.Store) error {
		s, err := fold(ctx, st)
		if err != nil {
			return err
		}
		held := 0
		for _, h := range s.open {
			if a := h.Current(); a != nil && a.Status == intent.Held {
				held++
			}
		}
		fmt.Fprintf(c.out, "%d records in %d buckets, %d barriers; %d jobs completed, %d open, %d of them held; %d broken\n",
			s.records, st.Buckets(), s.barriers, s.done, len(s.open), held, len(s.broken))
		return errors.Join(s.broken...)
	})
}

func resolve(ctx context.Context, c *call) error {
	job, err := intent.ParseJobID(c.args[0])
	if err != nil {
		return err
	}
	action, err := intent.ParseActionID(c.args[1])
	if err != nil {
		return err
	}
	if c.decision == "" || c.by == "" || c.reason == "" {
		return errors.New("resolve: want -decision retry, confirm or reject, -by and -reason")
	}
	err = with(ctx, c, true, func(st store.Store) (err error) {
		s, err := fold(ctx, st)
		if err != nil {
			return err
		}
		h := s.open[job]
		if h == nil {
			return fmt.Errorf("job %q is not open", job)
		}
		// The decision is recorded under the job's own worker name, so that this
		// worker's next life finds the job among its own.
		w, err := intentlog.Open(ctx, st, h.Claim.Worker, &intentlog.Options{Quarantine: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		return w.Resolve(ctx, job, action, intent.Resolution{
			Decision: intent.Resolve(c.decision), By: c.by, Reason: c.reason,
		})
	})
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("%w: stop the worker first", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(c.out, "recorded: %s of %s by %s\n", c.decision, action, c.by)
	return nil
}
