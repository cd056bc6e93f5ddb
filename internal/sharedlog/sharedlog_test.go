package sharedlog_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/sharedlog"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

func dial(t *testing.T, h http.Handler) (*sharedlog.Client, *httptest.Server) {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := sharedlog.Dial(t.Context(), srv.URL)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, srv
}

func barrier(id string) []intent.Event { return []intent.Event{intent.NewBarrier(id, 5)} }

func TestTwoClientsShareOneLog(t *testing.T) {
	ctx := t.Context()
	h := sharedlog.Handler(memstore.New(2))
	a, srv := dial(t, h)
	b, err := sharedlog.Dial(ctx, srv.URL)
	require.NoError(t, err)
	require.Equal(t, 2, a.Buckets())

	odd := barrier("1")
	odd[0].Detail = "not UTF-8: \xff\x00"
	first, err := a.Append(ctx, 1, odd)
	require.NoError(t, err)
	require.Zero(t, first)
	first, err = b.Append(ctx, 1, append(barrier("2"), barrier("3")...))
	require.NoError(t, err)
	require.Equal(t, int64(1), first)

	bound, err := a.Bound(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, int64(3), bound.End)
	require.Positive(t, bound.NowMS)
	var got []intent.Event
	require.NoError(t, a.Read(ctx, 1, 0, 3, func(r *store.Record) error {
		require.Equal(t, int64(len(got)), r.Offset)
		require.Positive(t, r.CommitMS)
		got = append(got, r.Event)
		return nil
	}))
	require.Equal(t, append(append(odd, barrier("2")...), barrier("3")...), got)
}

func TestErrorsKeepTheirIdentity(t *testing.T) {
	ctx := t.Context()
	st := memstore.New(1)
	c, _ := dial(t, sharedlog.Handler(st))
	_, err := c.Append(ctx, 4, barrier("1"))
	require.ErrorIs(t, err, store.ErrNoBucket)
	require.Equal(t, store.NotStored, store.OutcomeOf(err))
	_, err = c.Bound(ctx, 4)
	require.ErrorIs(t, err, store.ErrNoBucket)
	err = c.Read(ctx, 0, 0, 1, func(*store.Record) error { return nil })
	require.ErrorIs(t, err, store.ErrBeyondEnd)
	var re *store.ReadError
	require.ErrorAs(t, err, &re)

	_, err = c.Append(ctx, 0, barrier("1"))
	require.NoError(t, err)
	enough := errors.New("enough")
	require.Equal(t, enough, c.Read(ctx, 0, 0, 1, func(*store.Record) error { return enough }))

	require.NoError(t, c.Close())
	_, err = c.Append(ctx, 0, barrier("2"))
	require.ErrorIs(t, err, store.ErrClosed)
	require.Equal(t, store.NotStored, store.OutcomeOf(err))
}

// half lets the log do what it is asked and then cuts the answer.
type half struct {
	h   http.Handler
	cut bool
}

func (f *half) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.cut {
		f.h.ServeHTTP(w, r)
		return
	}
	rec := httptest.NewRecorder()
	f.h.ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	_, _ = w.Write(body[:len(body)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestACutAnswerIsNeverAnAbsence(t *testing.T) {
	ctx := t.Context()
	st := memstore.New(1)
	f := &half{h: sharedlog.Handler(st)}
	c, srv := dial(t, f)
	_, err := c.Append(ctx, 0, append(barrier("1"), barrier("2")...))
	require.NoError(t, err)
	f.cut = true

	_, err = c.Append(ctx, 0, barrier("3"))
	require.Error(t, err)
	require.Equal(t, store.Unknown, store.OutcomeOf(err))
	bound, err := st.Bound(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, int64(3), bound.End, "it is there, and the client could not know")
	_, err = c.Bound(ctx, 0)
	require.Error(t, err)
	var re *store.ReadError
	require.ErrorAs(t, c.Read(ctx, 0, 0, 3, func(*store.Record) error { return nil }), &re)

	srv.Close()
	c.Close()
}

func TestAnAppendToNobodyIsNotStored(t *testing.T) {
	c, srv := dial(t, sharedlog.Handler(memstore.New(1)))
	srv.Close()
	_, _ = c.Append(t.Context(), 0, barrier("1")) // over the old connection, which may have looked alive
	_, err := c.Append(t.Context(), 0, barrier("1"))
	require.Equal(t, store.NotStored, store.OutcomeOf(err), "%v", err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Append(ctx, 0, barrier("1"))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, store.NotStored, store.OutcomeOf(err))
}

// A server that delivers less than it was asked for is not believed.
func TestAShortReadIsAGap(t *testing.T) {
	st := memstore.New(1)
	_, err := st.Append(t.Context(), 0, barrier("1"))
	require.NoError(t, err)
	c, _ := dial(t, sharedlog.Handler(short{st}))
	require.ErrorIs(t, c.Read(t.Context(), 0, 0, 2, func(*store.Record) error { return nil }), store.ErrGap)
}

type short struct{ store.Store }

func (s short) Read(ctx context.Context, bucket int, from, _ int64, fn func(*store.Record) error) error {
	return s.Store.Read(ctx, bucket, from, from+1, fn)
}
