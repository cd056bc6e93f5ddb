package sealed_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sealed"
)

const stranger = "99999999-0000-4000-8000-000000000009"

// by makes an event of somebody without a key.
func by(owner intent.OwnerID, job intent.JobID, attempt, step int32, typ intent.Type, detail string) intent.Event {
	ev := intent.Event{
		JobID: job, EventID: intent.NewEventID(job, attempt, owner, step), Attempt: attempt, Step: step,
		Type: typ, EmittedAtMS: 1, Detail: detail,
	}
	if typ != intent.Started && typ != intent.Completed {
		ev.ActionID, ev.PayloadDigest = intent.ActionID(job+"/1"), intent.DigestOf([]byte("evil"))
	}
	return ev
}

// TestNoTamperedLogCausesARequest is S3 and S4: whatever somebody without a key
// does to the log, a worker refuses it, and the service sees no request.
func TestNoTamperedLogCausesARequest(t *testing.T) {
	forged := []intent.Event{
		by(stranger, "evil", 1, 1, intent.Started, `{"worker":"billing-0","single":true}`),
		by(stranger, "evil", 1, 2, intent.ActionRequested, "intentlog/1 POST pay /v1/charges\n\nevil"),
	}
	type logs struct{ here, other []intent.Event }
	attacks := map[string]func(l logs) []intent.Event{
		"forged intent": func(l logs) []intent.Event { return append(l.here, forged...) },
		"forged intent with a borrowed envelope": func(l logs) []intent.Event {
			forged := slices.Clone(forged)
			forged[0].Detail, forged[1].Detail = l.here[0].Detail, l.here[1].Detail
			return append(l.here, forged...)
		},
		"forged confirmation": func(l logs) []intent.Event {
			ev := l.here[5] // order-2's request
			return append(l.here, by(ev.Owner(), ev.JobID, 1, 4, intent.ActionConfirmed, `{"action_id":"order-2/1"}`))
		},
		"confirmation of another job": func(l logs) []intent.Event {
			ev := l.here[2]
			ev.JobID, ev.ActionID, ev.Step = "order-2", "order-2/1", 4
			ev.EventID = intent.NewEventID(ev.JobID, 1, l.here[5].Owner(), 4)
			return append(l.here, ev)
		},
		"replay from another log":     func(l logs) []intent.Event { return append(l.here, l.other[4:6]...) },
		"another log in its place":    func(l logs) []intent.Event { return l.other },
		"intent dropped":              func(l logs) []intent.Event { return slices.Delete(l.here, 5, 6) },
		"hold dropped":                func(l logs) []intent.Event { return slices.Delete(l.here, 6, 7) },
		"job dropped":                 func(l logs) []intent.Event { return slices.Delete(l.here, 4, 7) },
		"end of another job dropped":  func(l logs) []intent.Event { return slices.Delete(l.here, 2, 4) },
		"beginning dropped":           func(l logs) []intent.Event { return l.here[4:] },
		"reordered in a job":          func(l logs) []intent.Event { return swap(l.here, 5, 6) },
		"reordered across jobs":       func(l logs) []intent.Event { return swap(l.here, 3, 4) },
		"genuine event inserted":      func(l logs) []intent.Event { return slices.Insert(l.here, 6, l.here[0]) },
		"intent hidden by repetition": func(l logs) []intent.Event { l.here[5] = l.here[4]; return l.here },
		"details swapped between actions": func(l logs) []intent.Event {
			l.here[1].Detail, l.here[5].Detail = l.here[5].Detail, l.here[1].Detail
			return l.here
		},
		"action renamed": func(l logs) []intent.Event { l.here[5].ActionID = "order-9/1"; return l.here },
		"seal taken off": func(l logs) []intent.Event {
			_, l.here[5].Detail, _ = strings.Cut(l.here[5].Detail, "\n")
			return l.here
		},
		"unsealed barrier": func(l logs) []intent.Event { return append(l.here, intent.NewBarrier("x", 1)) },
	}
	for mode, opts := range modes {
		svc := newService(t)
		inner, elsewhere := memstore.New(1), memstore.New(1)
		life(t, svc, wrap(t, inner, ring, opts))
		other, err := sealed.New(elsewhere, "test/other", ring, opts)
		require.NoError(t, err)
		life(t, svc, other)
		genuine := logs{here: events(t, inner), other: events(t, elsewhere)}
		delete(svc.effects, "order-2/1")
		for name, attack := range attacks {
			t.Run(mode+"/"+name, func(t *testing.T) {
				svc.set(false)
				tampered := attack(logs{here: slices.Clone(genuine.here), other: slices.Clone(genuine.other)})
				err := recoverLog(t, svc, wrap(t, logOf(t, tampered), ring, opts), svc.options())
				require.ErrorIs(t, err, sealed.ErrUntrusted)
				require.Zero(t, svc.count(), "requests")
			})
		}
		t.Run(mode+"/wrong key", func(t *testing.T) {
			svc.set(false)
			wrong := sealed.Keys{Use: "k1", ByID: map[string][]byte{"k1": key(2)}}
			err := recoverLog(t, svc, wrap(t, logOf(t, genuine.here), wrong, opts), svc.options())
			require.ErrorIs(t, err, sealed.ErrUntrusted)
			require.Zero(t, svc.count(), "requests")
		})
		t.Run(mode+"/missing key", func(t *testing.T) {
			svc.set(false)
			other := sealed.Keys{Use: "k2", ByID: map[string][]byte{"k2": key(1)}}
			err := recoverLog(t, svc, wrap(t, logOf(t, genuine.here), other, opts), svc.options())
			require.ErrorIs(t, err, sealed.ErrKey)
			require.Zero(t, svc.count(), "requests")
		})
		t.Run(mode+"/untouched", func(t *testing.T) { // the tests above could have seen requests
			svc.set(false)
			require.NoError(t, recoverLog(t, svc, wrap(t, logOf(t, genuine.here), ring, opts), svc.options()))
			require.Equal(t, 1, svc.count(), "requests")
		})
	}
}

func swap(all []intent.Event, i, j int) []intent.Event {
	all[i], all[j] = all[j], all[i]
	return all
}

// TestTheEndOfTheLogIsMissedByWhoeverKeptAMark is the rest of S4: what nobody has
// built on can be cut off, unless a bookmark or a mark is kept outside.
func TestTheEndOfTheLogIsMissedByWhoeverKeptAMark(t *testing.T) {
	svc := newService(t)
	inner := memstore.New(1)
	st := wrap(t, inner, ring, nil)
	bookmark := life(t, svc, st)
	marks := st.Marks()
	all := events(t, inner)
	require.Equal(t, bookmark[0], marks[0].End)
	require.Len(t, all, int(marks[0].End))
	svc.set(false)
	for k := 1; k <= len(all); k++ {
		cut := all[:len(all)-k]
		opts := svc.options()
		opts.Bookmark = bookmark
		require.ErrorIs(t, recoverLog(t, svc, wrap(t, logOf(t, cut), ring, nil), opts), store.ErrLogRegressed, "bookmark, %d dropped", k)
		marked := &sealed.Options{Marks: marks}
		require.ErrorIs(t, recoverLog(t, svc, wrap(t, logOf(t, cut), ring, marked), svc.options()), store.ErrLogRegressed, "mark, %d dropped", k)
		if k == len(all) {
			continue // nothing genuine is left to fill it up with
		}
		filled := slices.Clone(cut)
		for range k { // a length alone can be made up for by repetitions
			filled = append(filled, cut[0])
		}
		require.ErrorIs(t, recoverLog(t, svc, wrap(t, logOf(t, filled), ring, marked), svc.options()), sealed.ErrUntrusted, "mark, %d replaced", k)
	}
	require.Zero(t, svc.count(), "requests")
	require.NoError(t, recoverLog(t, svc, wrap(t, logOf(t, all), ring, &sealed.Options{Marks: marks}), svc.options()))
	require.Equal(t, 1, svc.count(), "requests")
}

// editing is a store whose records are changed as they are read.
type editing struct {
	store.Store
	change func(*intent.Event)
}

func (s *editing) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	return s.Store.Read(ctx, bucket, from, to, func(r *store.Record) error {
		s.change(&r.Event)
		return fn(r)
	})
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			svc := newService(t)
			inner := &editing{Store: memstore.New(1), change: func(*intent.Event) {}}
			life(t, svc, wrap(t, inner, ring, opts))
			all := events(t, inner)
			flips, noticed := 0, 0
			st := wrap(t, inner, ring, opts)
			read := func(at int) error {
				return st.Read(t.Context(), 0, int64(at), int64(at)+1, func(*store.Record) error { return nil })
			}
			try := func(at int, change func(*intent.Event)) {
				inner.change = change
				if flips++; read(at) != nil {
					noticed++
				}
				inner.change = func(*intent.Event) {}
			}
			text := func(at int, field func(*intent.Event) string, set func(*intent.Event, string)) {
				old := field(&all[at])
				for i := range len(old) {
					b := []byte(old)
					b[i] ^= 1 << ((i + at) % 8)
					try(at, func(ev *intent.Event) { set(ev, string(b)) })
				}
			}
			for at := range all {
				require.NoError(t, read(at))
				text(at, func(e *intent.Event) string { return string(e.JobID) }, func(e *intent.Event, s string) { e.JobID = intent.JobID(s) })
				text(at, func(e *intent.Event) string { return string(e.EventID) }, func(e *intent.Event, s string) { e.EventID = intent.EventID(s) })
				text(at, func(e *intent.Event) string { return string(e.Type) }, func(e *intent.Event, s string) { e.Type = intent.Type(s) })
				text(at, func(e *intent.Event) string { return string(e.ActionID) }, func(e *intent.Event, s string) { e.ActionID = intent.ActionID(s) })
				text(at, func(e *intent.Event) string { return string(e.PayloadDigest) }, func(e *intent.Event, s string) { e.PayloadDigest = intent.Digest(s) })
				text(at, func(e *intent.Event) string { return e.Detail }, func(e *intent.Event, s string) { e.Detail = s })
				for bit := range 32 {
					try(at, func(e *intent.Event) { e.Attempt ^= 1 << bit })
					try(at, func(e *intent.Event) { e.Step ^= 1 << bit })
					try(at, func(e *intent.Event) { e.EmittedAtMS ^= 1 << (2 * bit) })
				}
			}
			require.Equal(t, flips, noticed)
			require.Greater(t, flips, 1000)
		})
	}
}

func TestASealIsForOneLogAndOneBucket(t *testing.T) {
	inner := memstore.New(2)
	st := wrap(t, inner, ring, nil)
	ev := by(stranger, "job", 1, 1, intent.Started, `{"worker":"w"}`)
	_, err := st.Append(t.Context(), 0, []intent.Event{ev})
	require.NoError(t, err)
	genuine := events(t, inner)
	require.NoError(t, readAll(t.Context(), wrap(t, logOf(t, genuine), ring, nil)))

	other, err := sealed.New(logOf(t, genuine), "test/other", ring, &sealed.Options{})
	require.NoError(t, err)
	require.ErrorIs(t, readAll(t.Context(), other), sealed.ErrUntrusted)

	_, err = inner.Append(t.Context(), 1, genuine)
	require.NoError(t, err)
	err = st.Read(t.Context(), 1, 0, 1, func(*store.Record) error { return nil })
	require.ErrorIs(t, err, sealed.ErrUntrusted)
	require.ErrorIs(t, err, store.ErrCorrupt, "nobody takes it for an error that passes")
}

func TestAForgeryUnderALivingWorkerStopsItsNextSend(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			svc := newService(t)
			inner := memstore.New(1)
			w, err := intentlog.Open(t.Context(), wrap(t, inner, ring, opts), "billing-0", svc.options())
			require.NoError(t, err)
			do := func(job intent.JobID) error {
				_, err := w.Do(t.Context(), job, intent.POST("pay", "/v1/charges", []byte("{}")))
				return err
			}
			require.NoError(t, do("order-1"))
			require.Equal(t, 1, svc.count())
			_, err = inner.Append(t.Context(), 0, []intent.Event{by(stranger, "order-2", 1, 1, intent.Started, `{"worker":"evil"}`)})
			require.NoError(t, err)
			require.ErrorIs(t, do("order-2"), sealed.ErrUntrusted)
			require.ErrorIs(t, do("order-3"), sealed.ErrUntrusted)
			_, err = w.Recover(t.Context())
			require.ErrorIs(t, err, sealed.ErrUntrusted)
			require.Equal(t, 1, svc.count(), "requests")
		})
	}
}
