package sharedlog

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt/httpoutcome"
	"github.com/intentlog/intentlog/store"
)

// patience is how long a call waits without hearing anything.
const patience = 20 * time.Second

// Client is a log in another process. All methods are safe for concurrent use.
type Client struct {
	base    string
	http    *http.Transport
	buckets int
	closed  atomic.Bool
}

var _ store.Store = (*Client)(nil)

// Dial returns a client of the log that is served at the base URL.
func Dial(ctx context.Context, base string) (*Client, error) {
	c := &Client{base: base, http: &http.Transport{}}
	var a answer
	if _, err := c.call(ctx, "/buckets", request{}, &a); err != nil {
		return nil, fmt.Errorf("dial shared log: %w", err)
	}
	c.buckets = a.Buckets
	return c, nil
}

// Buckets implements [store.Store].
func (c *Client) Buckets() int { return c.buckets }

// Append implements [store.Store]. Without an answer the outcome is Unknown, unless
// nothing was sent.
func (c *Client) Append(ctx context.Context, bucket int, events []intent.Event) (int64, error) {
	if err := c.check(ctx); err != nil {
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: err}
	}
	var a answer
	sent, err := c.call(ctx, "/append", request{Bucket: bucket, Events: events}, &a)
	switch {
	case err != nil && !sent:
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.NotStored, Err: err}
	case err != nil:
		return 0, &store.AppendError{Bucket: bucket, Outcome: store.Unknown, Err: err}
	case a.Failure != nil:
		return 0, &store.AppendError{Bucket: bucket, Outcome: a.Failure.Outcome, Err: a.Failure.err()}
	}
	return a.First, nil
}

// Bound implements [store.Store].
func (c *Client) Bound(ctx context.Context, bucket int) (store.Bound, error) {
	err := c.check(ctx)
	var a answer
	if err == nil {
		_, err = c.call(ctx, "/bound", request{Bucket: bucket}, &a)
	}
	if err == nil {
		err = a.Failure.err()
	}
	if err != nil {
		return store.Bound{}, fmt.Errorf("bound of bucket %d: %w", bucket, err)
	}
	return a.Bound, nil
}

// Read implements [store.Store].
func (c *Client) Read(ctx context.Context, bucket int, from, to int64, fn func(*store.Record) error) error {
	next := from
	fail := func(err error) error { return &store.ReadError{Bucket: bucket, Offset: next, Err: err} }
	if err := c.check(ctx); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(patience, func() { cancel(store.ErrNoProgress) })
	defer watch.Stop()
	req, err := c.request(ctx, "/read", request{Bucket: bucket, From: from, To: to})
	if err != nil {
		return fail(err)
	}
	resp, err := c.http.RoundTrip(req)
	if err != nil {
		return fail(errors.Join(err, context.Cause(ctx)))
	}
	defer resp.Body.Close()
	for in := gob.NewDecoder(resp.Body); ; {
		var l line
		switch err := in.Decode(&l); {
		case err != nil:
			return fail(errors.Join(cut(err), context.Cause(ctx)))
		case c.closed.Load():
			return fail(store.ErrClosed)
		case l.End != nil && l.End.Failure != nil:
			return fail(l.End.Failure.err())
		case l.End != nil && next != to:
			return fail(store.ErrGap)
		case l.End != nil:
			return nil
		case l.Record == nil || l.Record.Offset != next:
			return fail(store.ErrGap)
		}
		if err := fn(l.Record); err != nil {
			return err
		}
		next++
		watch.Reset(patience)
	}
}

// Close implements [store.Store]. The log stays open in its own process.
func (c *Client) Close() error {
	c.closed.Store(true)
	c.http.CloseIdleConnections()
	return nil
}

func (c *Client) check(ctx context.Context) error {
	if c.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

func (c *Client) request(ctx context.Context, path string, r request) (*http.Request, error) {
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(r); err != nil {
		return nil, err
	}
	return http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, &body)
}

// call sends one request and decodes the answer; sent is false only if no byte left.
func (c *Client) call(ctx context.Context, path string, r request, a *answer) (sent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := c.request(ctx, path, r)
	if err != nil {
		return false, err
	}
	res, err := httpoutcome.Do(c.http, req, 0)
	switch {
	case err != nil:
		return res.Outcome != httpoutcome.NotSent, err
	case res.Response.StatusCode != http.StatusOK:
		return true, fmt.Errorf("shared log answers with status %d", res.Response.StatusCode)
	}
	return true, cut(gob.NewDecoder(bytes.NewReader(res.Body)).Decode(a))
}
