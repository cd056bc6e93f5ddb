package receipt_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/receipt"
)

// document is what a service says about the request of these tests.
func document(state receipt.State, r *receipt.Receipt) string {
	doc := receipt.Document{Contract: receipt.DocumentVersion, Action: "job/1", State: state, Message: "why"}
	if r != nil {
		doc.Receipt = &receipt.DocumentBody{Action: r.Action, Digest: r.Digest, Reference: "effect-1"}
	}
	text, _ := json.Marshal(doc)
	return string(text)
}

// Each row is one answer of a real server, and what it proves.
func TestHTTPLookupTable(t *testing.T) {
	const asJSON = "application/json; charset=utf-8"
	committed, absent, inFlight := document(receipt.StateCommitted, &fits), document(receipt.StateAbsent, nil), document(receipt.StateInFlight, nil)
	for name, row := range map[string]struct {
		status      int
		contentType string
		body        string
		kind        receipt.Kind
		reason      receipt.Reason
	}{
		"committed":                           {200, asJSON, committed, receipt.Committed, ""},
		"absent":                              {404, asJSON, absent, receipt.Absent, ""},
		"in flight":                           {202, asJSON, inFlight, receipt.InFlight, ""},
		"row_23_401":                          {401, asJSON, absent, receipt.Unknown, receipt.ReasonAuth},
		"row_23_403":                          {403, asJSON, absent, receipt.Unknown, receipt.ReasonAuth},
		"407":                                 {407, asJSON, absent, receipt.Unknown, receipt.ReasonAuth},
		"408":                                 {408, asJSON, absent, receipt.Unknown, receipt.ReasonTransport},
		"429":                                 {429, asJSON, absent, receipt.Unknown, receipt.ReasonTransport},
		"row_22_500":                          {500, asJSON, committed, receipt.Unknown, receipt.ReasonTransport},
		"row_22_503":                          {503, asJSON, absent, receipt.Unknown, receipt.ReasonTransport},
		"redirect":                            {302, asJSON, absent, receipt.Unknown, receipt.ReasonContract},
		"not modified":                        {304, "", "", receipt.Unknown, receipt.ReasonContract},
		"row_24_bare_404":                     {404, "", "", receipt.Unknown, receipt.ReasonContract},
		"row_24_proxy_page_404":               {404, "text/html", "<html>not found</html>", receipt.Unknown, receipt.ReasonContract},
		"row_24_document_sent_as_html":        {404, "text/html", absent, receipt.Unknown, receipt.ReasonContract},
		"login page 200":                      {200, "text/html", "<html>log in</html>", receipt.Unknown, receipt.ReasonContract},
		"410":                                 {410, asJSON, absent, receipt.Unknown, receipt.ReasonContract},
		"204":                                 {204, "", "", receipt.Unknown, receipt.ReasonContract},
		"row_25_another_version":              {200, asJSON, strings.Replace(committed, "receipt/1", "receipt/2", 1), receipt.Unknown, receipt.ReasonContract},
		"row_25_absent_in_another_version":    {404, asJSON, strings.Replace(absent, "receipt/1", "receipt/2", 1), receipt.Unknown, receipt.ReasonContract},
		"row_25_no_version":                   {404, asJSON, `{"action_id":"job/1","state":"absent"}`, receipt.Unknown, receipt.ReasonContract},
		"about another action":                {404, asJSON, strings.Replace(absent, "job/1", "job/2", 1), receipt.Unknown, receipt.ReasonContract},
		"committed with the status of absent": {404, asJSON, committed, receipt.Unknown, receipt.ReasonContract},
		"absent with the status of committed": {200, asJSON, absent, receipt.Unknown, receipt.ReasonContract},
		"created, in answer to a question":    {201, asJSON, committed, receipt.Unknown, receipt.ReasonContract},
		"in flight as a conflict":             {409, asJSON, inFlight, receipt.Unknown, receipt.ReasonContract},
		"conflict":                            {409, asJSON, document(receipt.StateConflict, nil), receipt.Unknown, receipt.ReasonContract},
		"committed without a receipt":         {200, asJSON, document(receipt.StateCommitted, nil), receipt.Unknown, receipt.ReasonContract},
		"absent with a receipt":               {404, asJSON, document(receipt.StateAbsent, &fits), receipt.Unknown, receipt.ReasonContract},
		"row_65_receipt_for_another_action":   {200, asJSON, document(receipt.StateCommitted, misfits()["another action"]), receipt.Unknown, receipt.ReasonReceipt},
		"row_65_receipt_of_another_payload":   {200, asJSON, document(receipt.StateCommitted, misfits()["another digest"]), receipt.Unknown, receipt.ReasonReceipt},
		"row_65_oversized":                    {200, asJSON, committed + strings.Repeat(" ", receipt.MaxReceipt), receipt.Unknown, receipt.ReasonContract},
		"row_65_not_JSON":                     {200, asJSON, committed[:40], receipt.Unknown, receipt.ReasonContract},
		"null":                                {404, asJSON, "null", receipt.Unknown, receipt.ReasonContract},
		"a key twice":                         {404, asJSON, `{"state":"committed",` + absent[1:], receipt.Unknown, receipt.ReasonContract},
		"a key twice in other letters":        {404, asJSON, `{"State":"committed",` + absent[1:], receipt.Unknown, receipt.ReasonContract},
		"a receipt's key in other letters":    {200, asJSON, strings.Replace(committed, `"reference"`, `"Reference"`, 1), receipt.Unknown, receipt.ReasonContract},
		"an unknown field":                    {404, asJSON, `{"except":"not",` + absent[1:], receipt.Unknown, receipt.ReasonContract},
		"an unknown state":                    {404, asJSON, strings.Replace(absent, `"absent"`, `"gone"`, 1), receipt.Unknown, receipt.ReasonContract},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				w.Header().Set("Location", "/elsewhere") // only a redirect means it
				w.Header().Set("Content-Type", row.contentType)
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, row.body)
			}))
			defer srv.Close()
			f := receipt.Ask(t.Context(), lookup(srv), req)
			require.Equal(t, row.kind, f.Kind, f.Message())
			require.Equal(t, row.reason, f.Reason, f.Message())
			require.Equal(t, 1, asked, "never followed, never repeated")
			if row.kind == receipt.Committed {
				require.Equal(t, "effect-1", f.Receipt.Reference)
				require.Equal(t, row.body, string(f.Receipt.Body))
			}
		})
	}
}

func lookup(srv *httptest.Server) receipt.HTTPLookup {
	return receipt.HTTPLookup{
		URL:       func(r receipt.Request) string { return srv.URL + "/receipts/" + string(r.Intent.Action) },
		Transport: srv.Client().Transport,
	}
}

func TestHTTPLookupWithoutAWholeAnswer(t *testing.T) {
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(404)
		_, _ = io.WriteString(w, document(receipt.StateAbsent, nil))
		panic(http.ErrAbortHandler)
	}))
	defer cut.Close()
	f := receipt.Ask(t.Context(), lookup(cut), req)
	require.Equal(t, receipt.ReasonTransport, f.Reason, "row_22: a cut answer")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	l.Close()
	refused := receipt.HTTPLookup{URL: func(receipt.Request) string { return "http://user:secret@" + addr + "/x?key=secret" }}
	f = receipt.Ask(t.Context(), refused, req)
	require.Equal(t, receipt.ReasonTransport, f.Reason, "row_22: refused")
	require.NotContains(t, f.Message(), "secret")

	bad := receipt.HTTPLookup{URL: func(receipt.Request) string { return "http://secret\x7f" }}
	f = receipt.Ask(t.Context(), bad, req)
	require.Equal(t, receipt.ReasonContract, f.Reason)
	require.NotContains(t, f.Message(), "secret")

	require.Equal(t, receipt.ReasonPanic, receipt.Ask(t.Context(), receipt.HTTPLookup{}, req).Reason)
}

func TestHTTPLookupAddsCredentialsAndKeepsThemToItself(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		w.WriteHeader(401)
	}))
	defer srv.Close()
	l := lookup(srv)
	l.Auth = func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer secret")
		return nil
	}
	f := receipt.Ask(t.Context(), l, req)
	require.Equal(t, "Bearer secret", got)
	require.NotContains(t, f.Message(), "secret")

	why := errors.New("cannot read secret")
	l.Auth = func(*http.Request) error { return why }
	f = receipt.Ask(t.Context(), l, req)
	require.Equal(t, receipt.ReasonAuth, f.Reason)
	require.NotContains(t, f.Message(), "secret")
	require.ErrorIs(t, f.Err, why)
}

// What a document means in answer to the request itself.
func TestInterpret(t *testing.T) {
	header := http.Header{"Content-Type": {"application/json"}}
	for _, row := range []struct {
		status int
		body   string
		result receipt.Result
		reason receipt.Reason
	}{
		{200, document(receipt.StateCommitted, &fits), receipt.Accepted, ""},
		{201, document(receipt.StateCommitted, &fits), receipt.Accepted, ""},
		{409, document(receipt.StateConflict, nil), receipt.Mismatch, receipt.ReasonConflict},
		{409, document(receipt.StateInFlight, nil), receipt.Busy, receipt.ReasonInFlight},
		{202, document(receipt.StateInFlight, nil), receipt.Busy, receipt.ReasonInFlight},
		{422, document(receipt.StateRejected, nil), receipt.Refused, receipt.ReasonRefused},
		{404, document(receipt.StateAbsent, nil), receipt.Lost, receipt.ReasonContract},
		{400, document(receipt.StateRejected, nil), receipt.Lost, receipt.ReasonContract},
		{400, "", receipt.Lost, receipt.ReasonContract},
		{200, "<html>", receipt.Lost, receipt.ReasonContract},
		{403, document(receipt.StateRejected, nil), receipt.Lost, receipt.ReasonAuth},
		{503, document(receipt.StateRejected, nil), receipt.Lost, receipt.ReasonTransport},
		{303, document(receipt.StateCommitted, &fits), receipt.Lost, receipt.ReasonContract},
	} {
		a := receipt.Interpret(req, row.status, header, []byte(row.body))
		require.Equal(t, row.result, a.Result, "%d %s", row.status, row.body)
		require.Equal(t, row.reason, a.Reason, "%d %s", row.status, row.body)
	}
}
