package sealed_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sealed"
	"github.com/intentlog/intentlog/store/sqlitestore"
	"github.com/intentlog/intentlog/store/storetest"
)

func TestASealedStoreKeepsEveryPromise(t *testing.T) {
	for name, opts := range map[string]*sealed.Options{
		"encrypt": nil, "sign": {Mode: sealed.Sign}, "own barriers": {SignBarriers: true},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				inner := memstore.New(3)
				return storetest.Harness{
					Store:  wrap(t, inner, ring, opts),
					Reopen: func() (store.Store, error) { return sealed.New(inner.Reopen(), logName, ring, opts) },
				}
			})
		})
	}
}

func TestWhatTheLogHoldsIsHiddenOrReadable(t *testing.T) {
	svc := newService(t)
	hidden, signed := memstore.New(1), memstore.New(1)
	life(t, svc, wrap(t, hidden, ring, nil))
	life(t, svc, wrap(t, signed, ring, &sealed.Options{Mode: sealed.Sign}))
	for i, ev := range events(t, hidden) {
		require.NoError(t, ev.Check(), "the nine columns keep their form")
		text := fmt.Sprintf("%q", []any{ev.JobID, ev.EventID, ev.Type, ev.ActionID, ev.PayloadDigest, ev.Detail})
		require.NotContains(t, text, "1203")
		require.NotContains(t, text, "billing-0")
		plain := intent.DigestOf([]byte(`{"order":"` + string(ev.JobID) + `","iban":"DE02 1203"}`))
		require.NotEqual(t, plain, ev.PayloadDigest, "the digest of a payload that can be guessed")
		if i == 5 {
			require.NotEmpty(t, ev.PayloadDigest)
		}
	}
	ev := events(t, signed)[1]
	line, body, _ := strings.Cut(ev.Detail, "\n")
	require.Regexp(t, `^sealed/1 sign k1 0 [\w-]{22} [\w-]{43}$`, line)
	require.Equal(t, "intentlog/1 POST pay /v1/charges\n\n{\"order\":\"order-1\",\"iban\":\"DE02 1203\"}", body)
	require.Equal(t, intent.DigestOf([]byte(`{"order":"order-1","iban":"DE02 1203"}`)), ev.PayloadDigest)
}

// TestTheFileOfASealedLogShowsNoPayload is S2 on the disk, and a log of several lives
// on the embedded store.
func TestTheFileOfASealedLogShowsNoPayload(t *testing.T) {
	svc := newService(t)
	path := filepath.Join(t.TempDir(), "log.db")
	st, err := sqlitestore.Open(path, nil)
	require.NoError(t, err)
	log := wrap(t, st, ring, nil)
	life(t, svc, log)
	marks := log.Marks()
	require.NoError(t, log.Close())

	st, err = sqlitestore.Open(path, nil)
	require.NoError(t, err)
	log = wrap(t, st, ring, &sealed.Options{Marks: marks})
	require.NoError(t, recoverLog(t, svc, log, svc.options()))
	require.Equal(t, 1, svc.count())
	require.NoError(t, log.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "order-2")
	require.NotContains(t, string(text), "DE02 1203")
	require.NotContains(t, string(text), intent.DigestOf([]byte(`{"order":"order-2","iban":"DE02 1203"}`)))
}

func TestKeysAreRotatedAndModesChanged(t *testing.T) {
	inner := memstore.New(1)
	both := map[string][]byte{"k1": key(1), "k2": key(2)}
	lives := []struct {
		ring sealed.Keys
		mode sealed.Mode
	}{
		{ring, sealed.Encrypt},
		{sealed.Keys{Use: "k1", ByID: both}, sealed.Sign},
		{sealed.Keys{Use: "k2", ByID: both}, sealed.Encrypt},
	}
	svc := newService(t)
	for i, l := range lives {
		w, err := intentlog.Open(t.Context(), wrap(t, inner, l.ring, &sealed.Options{Mode: l.mode}), "w", svc.options())
		require.NoError(t, err)
		out, err := w.Do(t.Context(), intent.JobID(fmt.Sprintf("job-%d", i)), intent.POST("pay", "/", []byte("{}")))
		require.NoError(t, err)
		require.Equal(t, intentlog.Confirmed, out.Status)
		require.NoError(t, w.Close())
	}
	require.NoError(t, readAll(t.Context(), wrap(t, inner, sealed.Keys{Use: "k2", ByID: both}, nil)))
	require.ErrorIs(t, readAll(t.Context(), wrap(t, inner, sealed.Keys{Use: "k2", ByID: map[string][]byte{"k2": key(2)}}, nil)), sealed.ErrKey)
	require.ErrorIs(t, readAll(t.Context(), wrap(t, inner, ring, nil)), sealed.ErrKey, "a reader without the new key")
}

func TestSeveralOwnersVouchForOneLog(t *testing.T) {
	svc := newService(t)
	inner := memstore.New(2)
	a, err := intentlog.Open(t.Context(), wrap(t, inner, ring, nil), "a", svc.options())
	require.NoError(t, err)
	b, err := intentlog.Open(t.Context(), wrap(t, inner.Reopen(), ring, nil), "b", svc.options())
	require.NoError(t, err)
	for i := range 50 {
		w := a
		if i%3 == 0 {
			w = b
		}
		out, err := w.Do(t.Context(), intent.JobID(fmt.Sprintf("job-%d", i)), intent.POST("pay", "/", []byte("{}")))
		require.NoError(t, err)
		require.Equal(t, intentlog.Confirmed, out.Status)
	}
	require.NoError(t, readAll(t.Context(), wrap(t, inner, ring, nil)))
}

func TestALogThatWasPlainGoesOnSealed(t *testing.T) {
	svc := newService(t)
	inner := memstore.New(1)
	life(t, svc, inner)
	from := []int64{int64(len(events(t, inner)))}
	delete(svc.effects, "order-2/1")
	require.ErrorIs(t, recoverLog(t, svc, wrap(t, inner, ring, nil), svc.options()), sealed.ErrUntrusted)
	require.Zero(t, svc.count())
	opts := &sealed.Options{AllowPlainBelow: from}
	require.NoError(t, recoverLog(t, svc, wrap(t, inner, ring, opts), svc.options()))
	require.Equal(t, 1, svc.count())
	require.NoError(t, readAll(t.Context(), wrap(t, inner, ring, opts)))

	all := events(t, inner)
	all[5].EmittedAtMS++ // below the line, but what is sealed stands on it
	require.ErrorIs(t, readAll(t.Context(), wrap(t, logOf(t, all), ring, opts)), sealed.ErrUntrusted)
}

func TestUnsealedBarriersAreAllowedByTheirOptionOnly(t *testing.T) {
	inner := memstore.New(1)
	opts := &sealed.Options{AllowPlainBarriers: true}
	st := wrap(t, inner, ring, opts)
	add := func(st store.Store, ev intent.Event) {
		_, err := st.Append(t.Context(), 0, []intent.Event{ev})
		require.NoError(t, err)
	}
	add(inner, intent.NewBarrier("a", 1))
	require.NoError(t, readAll(t.Context(), st))
	add(st, by(stranger, "job", 1, 1, intent.Started, "{}"))
	require.NoError(t, readAll(t.Context(), wrap(t, inner, ring, opts)))
	require.ErrorIs(t, readAll(t.Context(), wrap(t, inner, ring, nil)), sealed.ErrUntrusted)

	other := events(t, inner)
	other[0] = intent.NewBarrier("b", 1)
	require.ErrorIs(t, readAll(t.Context(), wrap(t, logOf(t, other), ring, opts)), sealed.ErrUntrusted, "what is sealed stands on it")
	no := intent.NewBarrier("b", 1)
	no.JobID = "job"
	require.ErrorIs(t, readAll(t.Context(), wrap(t, logOf(t, []intent.Event{no}), ring, opts)), sealed.ErrUntrusted)
}

func TestAJobIsErasedByItsKey(t *testing.T) {
	svc := newService(t)
	keys := map[intent.JobID][]byte{"order-1": key(11), "order-2": key(12), "order-3": key(13)}
	opts := &sealed.Options{JobKey: func(job intent.JobID) ([]byte, error) {
		if k := keys[job]; k != nil {
			return k, nil
		}
		return nil, sealed.ErrShredded
	}}
	inner := memstore.New(1)
	life(t, svc, wrap(t, inner, ring, opts))
	keys["order-1"] = nil
	st := wrap(t, inner, ring, opts)
	var types []intent.Type
	for _, ev := range events(t, st) {
		require.NotEqual(t, intent.JobID("order-1"), ev.JobID)
		types = append(types, ev.Type)
	}
	require.Equal(t, []intent.Type{intent.Barrier, intent.Barrier, intent.Barrier, intent.Barrier, intent.Started}, types[:5])
	delete(svc.effects, "order-2/1")
	require.NoError(t, recoverLog(t, svc, st, svc.options()), "the other jobs go on")
	require.Equal(t, 1, svc.count())

	w, err := intentlog.Open(t.Context(), st, "billing-0", svc.options())
	require.NoError(t, err)
	_, err = w.Do(t.Context(), "order-1", intent.POST("pay", "/v1/charges", []byte(`{}`)))
	require.ErrorIs(t, err, sealed.ErrShredded, "an erased job is not done again")
	require.Equal(t, store.NotStored, store.OutcomeOf(err))
	require.Equal(t, 1, svc.count())

	all := events(t, inner)
	all[1].Detail = all[1].Detail[:len(all[1].Detail)-4] + "AAAA"
	require.ErrorIs(t, readAll(t.Context(), wrap(t, logOf(t, all), ring, opts)), sealed.ErrUntrusted, "erased is not unwatched")
}

func TestWhatDoesNotFitIsRefusedBeforeTheAppend(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			inner := memstore.New(1)
			st := wrap(t, inner, ring, opts)
			ev := by(stranger, "job", 1, 2, intent.ActionRequested, strings.Repeat("x", opts.MaxDetail()+1))
			_, err := st.Append(t.Context(), 0, []intent.Event{ev})
			require.ErrorIs(t, err, sealed.ErrTooLarge)
			require.Equal(t, store.NotStored, store.OutcomeOf(err))
			require.Empty(t, events(t, inner))
			ev.Detail = ev.Detail[1:]
			_, err = st.Append(t.Context(), 0, []intent.Event{ev})
			require.NoError(t, err)
			require.NoError(t, events(t, inner)[0].Check(), "the envelope fits into an event")
			require.Equal(t, ev, events(t, st)[0])
			require.GreaterOrEqual(t, opts.MaxDetail(), intent.MaxPayload+intent.MaxRoute)
		})
	}
}

func TestAnUnusableKeyIsAnErrorAtOnce(t *testing.T) {
	for name, ring := range map[string]sealed.Keys{
		"none": {}, "short": {Use: "a", ByID: map[string][]byte{"a": key(1)[1:]}}, "unknown": {Use: "b", ByID: map[string][]byte{"a": key(1)}},
	} {
		_, err := sealed.New(memstore.New(1), logName, ring, nil)
		require.ErrorIs(t, err, sealed.ErrKey, name)
	}
	_, err := sealed.New(memstore.New(1), "", ring, nil)
	require.Error(t, err)
	_, err = sealed.New(memstore.New(1), logName, ring, &sealed.Options{Mode: 7})
	require.Error(t, err)
}

// TestKeysDoNotPrint is S10 for the keys of a log.
func TestKeysDoNotPrint(t *testing.T) {
	secret := sealed.Keys{Use: "a", ByID: map[string][]byte{"a": []byte("0123456789abcdef0123456789abcdef")}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		text := fmt.Sprintf(verb, secret)
		require.NotContains(t, text, "0123456789abcdef")
		require.NotContains(t, text, "48 49")
		require.NotContains(t, text, "0x30")
		require.NotContains(t, text, "3031323334")
	}
}

// doubtful loses the first answer, and the batch with it or not.
type doubtful struct {
	*memstore.Store
	keep  bool
	tried [][]intent.Event
}

func (d *doubtful) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	d.tried = append(d.tried, events)
	if len(d.tried) > 1 {
		return d.Store.Append(ctx, bucket, events)
	}
	if d.keep {
		if _, err := d.Store.Append(ctx, bucket, events); err != nil {
			return 0, err
		}
	}
	return 0, &store.AppendError{Bucket: bucket, Err: errors.New("no answer")}
}

func TestAnAppendInDoubtIsRepeatedByteForByte(t *testing.T) {
	for _, keep := range []bool{false, true} {
		inner := &doubtful{Store: memstore.New(1), keep: keep}
		st := wrap(t, inner, ring, nil)
		mine := []intent.Event{by(stranger, "job", 1, 1, intent.Started, `{"worker":"w"}`)}
		_, err := st.Append(t.Context(), 0, mine)
		require.Equal(t, store.Unknown, store.OutcomeOf(err))
		// Another owner writes meanwhile, and this one sees it.
		theirs := wrap(t, inner.Store, ring, nil)
		_, err = theirs.Append(t.Context(), 0, []intent.Event{by(stranger, "other", 1, 1, intent.Started, `{"worker":"w"}`)})
		require.NoError(t, err)
		require.NoError(t, readAll(t.Context(), st))
		_, err = st.Append(t.Context(), 0, mine)
		require.NoError(t, err)
		require.Equal(t, inner.tried[0], inner.tried[1])
		require.NoError(t, readAll(t.Context(), wrap(t, inner.Store, ring, nil)))
	}
}

// TestASpoiledLogGoesOnAsACopy: the way out that docs/security.md tells.
func TestASpoiledLogGoesOnAsACopy(t *testing.T) {
	svc := newService(t)
	inner := memstore.New(1)
	life(t, svc, wrap(t, inner, ring, nil))
	genuine := events(t, inner)
	_, err := inner.Append(t.Context(), 0, []intent.Event{by(stranger, "evil", 1, 1, intent.Started, "{}")})
	require.NoError(t, err)
	require.ErrorIs(t, recoverLog(t, svc, wrap(t, inner, ring, nil), svc.options()), sealed.ErrUntrusted)
	require.NoError(t, recoverLog(t, svc, wrap(t, logOf(t, genuine), ring, nil), svc.options()))
	require.Equal(t, 1, svc.count(), "order-2 is settled")
}
