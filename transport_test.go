package intentlog_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
)

func transportClient(t *testing.T, st store.Store, l *ledger, url string) *http.Client {
	w, err := intentlog.Open(t.Context(), st, "billing-0", options(l, url))
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return &http.Client{Transport: w.Transport(nil)}
}

func post(t *testing.T, client *http.Client, ctx context.Context, url string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer secret-token")
	return client.Do(req)
}

func TestTransportLogsAnUnmodifiedClientsCallAndKeepsCredentialsOut(t *testing.T) {
	l, url := newLedger(t)
	st := memstore.New(1)
	client := transportClient(t, st, l, url)
	ctx := intentlog.WithAction(t.Context(), "order-1", "order-1/charge")
	resp, err := post(t, client, ctx, url+"/v1/charges?expand=1", strings.NewReader(`{"amount":1}`))
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	require.Empty(t, resp.Header.Get(intentlog.OutcomeHeader), "the answer is the wire's own")

	var detail string
	require.NoError(t, st.Read(t.Context(), 0, 1, 2, func(r *store.Record) error {
		detail = r.Event.Detail
		return nil
	}))
	require.Equal(t, "intentlog/1 POST pay /v1/charges?expand=1\nContent-Type: application/json\n\n{\"amount\":1}", detail)
	require.Contains(t, l.effects, "order-1/charge")

	resp, err = post(t, client, ctx, url+"/v1/charges?expand=1", strings.NewReader(`{"amount":1}`))
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	require.Equal(t, "confirmed", resp.Header.Get(intentlog.OutcomeHeader), "a rebuilt response says so")
	require.Equal(t, 1, l.posts)
}

func TestTransportRefusesWhatItCannotMakeDurable(t *testing.T) {
	l, url := newLedger(t)
	client := transportClient(t, memstore.New(1), l, url)
	named := intentlog.WithAction(t.Context(), "order-1", "order-1/charge")
	for name, tc := range map[string]struct {
		ctx  context.Context
		url  string
		body io.Reader
		want error
	}{
		"no action in the context": {t.Context(), url + "/v1", strings.NewReader("{}"), intentlog.ErrUnnamed},
		"streamed body":            {named, url + "/v1", io.MultiReader(strings.NewReader("{}")), intentlog.ErrStreaming},
		"url below no target":      {named, "http://127.0.0.1:1/v1", strings.NewReader("{}"), intentlog.ErrUnknownTarget},
		"body over the limit":      {named, url + "/v1", strings.NewReader(strings.Repeat("x", intent.MaxPayload+1)), intent.ErrPayloadTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := post(t, client, tc.ctx, tc.url, tc.body)
			require.ErrorIs(t, err, tc.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	require.Zero(t, l.posts)
}

func TestTransportAnswersFromTheReceiptAfterALostAnswer(t *testing.T) {
	l, url := newLedger(t)
	l.drop = true
	client := transportClient(t, memstore.New(1), l, url)
	ctx := intentlog.WithAction(t.Context(), "order-1", "order-1/charge")
	resp, err := post(t, client, ctx, url+"/v1/charges", strings.NewReader(`{}`))
	require.NoError(t, err)
	require.Equal(t, "reconciled", resp.Header.Get(intentlog.OutcomeHeader))
	require.Equal(t, 1, l.posts)

	l.down = true
	ctx = intentlog.WithAction(t.Context(), "order-2", "order-2/charge")
	_, err = post(t, client, ctx, url+"/v1/charges", strings.NewReader(`{}`))
	var held *intentlog.HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, intent.ActionID("order-2/charge"), held.Outcome.Action)
}
