package intent_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/intentlog/intentlog/intent"
)

var charge = intent.Route{Method: "POST", Target: "payments", Path: "/v1/charges?dry=1"}

func withHeader(r intent.Route, fields ...intent.Field) intent.Route {
	r.Header = fields
	return r
}

func TestDetailText(t *testing.T) {
	for _, c := range []struct {
		name    string
		route   intent.Route
		payload string
		want    string
	}{
		{"payload_is_its_own_text", intent.Route{}, `{"ticket":"ticket-1042"}`, `{"ticket":"ticket-1042"}`},
		{"empty", intent.Route{}, "", ""},
		{"crlf_stands", intent.Route{}, "a\r\nb\n", "a\r\nb\n"},
		{"not_utf8", intent.Route{}, "\xff\xfe", "intentlog/1 -\nintentlog-body: base64\n\n//4="},
		{"nul", intent.Route{}, "a\x00b", "intentlog/1 -\nintentlog-body: base64\n\nYQBi"},
		{"looks_like_a_document", intent.Route{}, "intentlog/1 -\n\nx", "intentlog/1 -\n\nintentlog/1 -\n\nx"},
		{"begins_like_a_document", intent.Route{}, "intentlog/", "intentlog/1 -\n\nintentlog/"},
		{"almost_a_document", intent.Route{}, "intentlog", "intentlog"},
		{"route", charge, `{"amount":1299}`, "intentlog/1 POST payments /v1/charges?dry=1\n\n{\"amount\":1299}"},
		{"route_without_body", charge, "", "intentlog/1 POST payments /v1/charges?dry=1\n\n"},
		{
			"headers_keep_case_and_order",
			withHeader(charge, intent.Field{Name: "X-b", Value: "2: ü"}, intent.Field{Name: "A", Value: ""}), "\n\n",
			"intentlog/1 POST payments /v1/charges?dry=1\nX-b: 2: ü\nA: \n\n\n\n",
		},
		{
			"route_and_binary",
			withHeader(charge, intent.Field{Name: "Content-Type", Value: "application/octet-stream"}), "\x00",
			"intentlog/1 POST payments /v1/charges?dry=1\nContent-Type: application/octet-stream\nintentlog-body: base64\n\nAA==",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := intent.Intent{Action: "a-1", Route: c.route, Payload: []byte(c.payload)}
			text, err := in.Detail()
			require.NoError(t, err)
			require.Equal(t, c.want, text)
			back, err := intent.ParseDetail("a-1", text)
			require.NoError(t, err)
			require.Equal(t, in, back)
		})
	}
}

func TestDetailOfOtherFormsIsRefused(t *testing.T) {
	const head = "intentlog/1 POST payments /v1\n"
	for _, c := range []struct {
		name, text string
		err        error
	}{
		{"raw_bytes", "\xff", intent.ErrMalformed},
		{"raw_nul", "a\x00", intent.ErrMalformed},
		{"no_first_line", "intentlog/1 -", intent.ErrMalformed},
		{"future_version", "intentlog/2 -\n\nintentlog/", intent.ErrUnsupported},
		{"no_version", "intentlog/\n\n", intent.ErrUnsupported},
		{"three_words", "intentlog/1 POST payments\n\n", intent.ErrMalformed},
		{"five_words", "intentlog/1 POST payments /a b\n\n", intent.ErrMalformed},
		{"no_empty_line", head + "A: b\n", intent.ErrMalformed},
		{"header_without_colon", head + "A\n\n", intent.ErrMalformed},
		{"carriage_return_in_header", head + "A: b\r\n\n", intent.ErrMalformed},
		{"header_without_route", "intentlog/1 -\nA: b\n\nintentlog/", intent.ErrMalformed},
		{"credentials", head + "Authorization: Bearer x\n\n", intent.ErrForbiddenHeader},
		{"header_after_encoding", head + "intentlog-body: base64\nA: b\n\nAA==", intent.ErrMalformed},
		{"future_encoding", head + "intentlog-body: zstd\n\n", intent.ErrUnsupported},
		{"base64_with_line_break", head + "intentlog-body: base64\n\nAA=\n=", intent.ErrMalformed},
		{"base64_with_spare_bits", head + "intentlog-body: base64\n\nAB==", intent.ErrMalformed},
		{"base64_without_need", head + "intentlog-body: base64\n\nYQ==", intent.ErrMalformed},
		{"document_without_need", "intentlog/1 -\n\nplain", intent.ErrMalformed},
		{"document_with_raw_nul", head + "\n\x00", intent.ErrMalformed},
		{"url_for_path", "intentlog/1 POST payments http://169.254.169.254/\n\n", intent.ErrBadRoute},
		{"oversize", strings.Repeat("x", intent.MaxPayload+1), intent.ErrPayloadTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := intent.ParseDetail("a-1", c.text)
			require.ErrorIs(t, err, c.err)
			require.Zero(t, in)
		})
	}
	_, err := intent.ParseDetail("bad id", "x")
	require.ErrorIs(t, err, intent.ErrBadID)
}

func TestIntentThatMustNotBeSaved(t *testing.T) {
	header := func(name, value string) intent.Route {
		return withHeader(charge, intent.Field{Name: name, Value: value})
	}
	route := func(method, target, path string) intent.Route {
		return intent.Route{Method: method, Target: target, Path: path}
	}
	for _, c := range []struct {
		name  string
		route intent.Route
		err   error
	}{
		{"S1_authorization", header("Authorization", "Bearer x"), intent.ErrForbiddenHeader},
		{"S1_any_case", header("aUTHORIZATION", "x"), intent.ErrForbiddenHeader},
		{"S1_proxy", header("Proxy-Authorization", "x"), intent.ErrForbiddenHeader},
		{"S1_cookie", header("Cookie", "x"), intent.ErrForbiddenHeader},
		{"S1_set_cookie", header("Set-Cookie", "x"), intent.ErrForbiddenHeader},
		{"S1_api_key", header("X-Api-Key", "x"), intent.ErrForbiddenHeader},
		{"S1_underscore", header("X_API_KEY", "x"), intent.ErrForbiddenHeader},
		{"S1_vendor_token", header("Private-Token", "x"), intent.ErrForbiddenHeader},
		{"header_injection", header("A", "b\nC: d"), intent.ErrBadRoute},
		{"header_carriage_return", header("A", "b\rc"), intent.ErrBadRoute},
		{"header_name_injection", header("A: b\nC", "d"), intent.ErrBadRoute},
		{"header_name_empty", header("", "d"), intent.ErrBadRoute},
		{"header_terminal_escape", header("A", "\u009b2J"), intent.ErrBadRoute},
		{"header_not_utf8", header("A", "\xff"), intent.ErrBadRoute},
		{"header_edge_space", header("A", " b"), intent.ErrBadRoute},
		{"header_of_the_form", header("Intentlog-Body", "base64"), intent.ErrBadRoute},
		{"headers_too_large", header("A", strings.Repeat("x", intent.MaxRoute)), intent.ErrBadRoute},
		{"only_headers", intent.Route{Header: []intent.Field{{Name: "A", Value: "b"}}}, intent.ErrBadRoute},
		{"method_lower", route("post", "payments", "/"), intent.ErrBadRoute},
		{"method_space", route("PO ST", "payments", "/"), intent.ErrBadRoute},
		{"no_target", route("POST", "", "/"), intent.ErrBadRoute},
		{"target_dash", route("POST", "-", "/"), intent.ErrBadRoute},
		{"no_path", route("POST", "payments", ""), intent.ErrBadRoute},
		{"S5_url", route("POST", "payments", "http://10.0.0.1/"), intent.ErrBadRoute},
		{"S5_other_host", route("POST", "payments", "//evil.example/"), intent.ErrBadRoute},
		{"path_space", route("POST", "payments", "/a b"), intent.ErrBadRoute},
		{"path_newline", route("POST", "payments", "/a\nb: c"), intent.ErrBadRoute},
		{"path_fragment", route("POST", "payments", "/a#b"), intent.ErrBadRoute},
		{"path_not_ascii", route("POST", "payments", "/ä"), intent.ErrBadRoute},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := intent.Intent{Action: "a-1", Route: c.route, Payload: []byte("x")}
			require.ErrorIs(t, in.Check(), c.err)
			_, err := in.Detail()
			require.ErrorIs(t, err, c.err)
		})
	}
	require.ErrorIs(t, intent.POST("payments", "/", nil).Check(), intent.ErrBadID, "the caller or the worker names it")
	require.NoError(t, intent.POST("payments", "/", nil).WithAction("a").Check())
}

// S11: at the limit everything fits, in the longest text form too.
func TestPayloadLimit(t *testing.T) {
	route := withHeader(charge, intent.Field{Name: "A", Value: strings.Repeat("x", intent.MaxRoute-100)})
	in := intent.Intent{Action: "a", Route: route, Payload: make([]byte, intent.MaxPayload)}
	text, err := in.Detail()
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), intent.MaxDetail)
	in.Payload = append(in.Payload, 0)
	_, err = in.Detail()
	require.ErrorIs(t, err, intent.ErrPayloadTooLarge)
}

// anyIntent draws intents whose payloads are bytes, text, or texts of intents.
func anyIntent(action intent.ActionID) *rapid.Generator[intent.Intent] {
	return rapid.Custom(func(t *rapid.T) intent.Intent {
		in := intent.Intent{Action: action}
		if rapid.Bool().Draw(t, "routed") {
			in.Route = intent.Route{
				Method: rapid.SampledFrom([]string{"POST", "PUT", "DELETE"}).Draw(t, "method"),
				Target: rapid.StringMatching(`[A-Za-z0-9._:/]{1,5}`).Draw(t, "target"),
				Path:   "/" + rapid.StringMatching(`([!"$-.0-~][!"$-~]{0,6})?`).Draw(t, "path"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "headers") {
				in.Route.Header = append(in.Route.Header, intent.Field{
					Name:  "X-" + rapid.StringMatching(`[A-Z0-9_-]{0,4}`).Draw(t, "header"),
					Value: rapid.StringMatching(`([!-~ü]([ -~ü]{0,5}[!-~ü])?)?`).Draw(t, "value"),
				})
			}
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			in.Payload = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		case 1:
			in.Payload = []byte(rapid.String().Draw(t, "text"))
		case 2:
			in.Payload = []byte(rapid.StringMatching(`(intentlog/1 (-|POST a /))?[\n:a\x00]{0,4}`).Draw(t, "alike"))
		case 3:
			inner := intent.Intent{Action: "x", Route: charge, Payload: rapid.SliceOf(rapid.Byte()).Draw(t, "inner")}
			text, err := inner.Detail()
			require.NoError(t, err)
			in.Payload = []byte(text)
		}
		return in
	})
}

func TestDetailRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyIntent("a-1").Draw(t, "intent")
		text, err := in.Detail()
		require.NoError(t, err)
		back, err := intent.ParseDetail("a-1", text)
		require.NoError(t, err)
		require.Equal(t, in.Route, back.Route)
		require.True(t, bytes.Equal(in.Payload, back.Payload))
		if len(back.Payload) > 0 {
			back.Payload[0]++ // the payload is a copy
			again, err := in.Detail()
			require.NoError(t, err)
			require.Equal(t, text, again)
		}
	})
}

// S7: a byte moved between the fields makes another text.
func TestTwoIntentsNeverShareADetail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyIntent("a-1").Draw(t, "a"), anyIntent("a-1").Draw(t, "b")
		if rapid.Bool().Draw(t, "payload_is_the_text") {
			text, err := b.Detail()
			require.NoError(t, err)
			a = intent.New("a-1", []byte(text))
		}
		textA, err := a.Detail()
		require.NoError(t, err)
		textB, err := b.Detail()
		require.NoError(t, err)
		same := bytes.Equal(a.Payload, b.Payload) && a.Route.Method == b.Route.Method &&
			a.Route.Target == b.Route.Target && a.Route.Path == b.Route.Path && len(a.Route.Header) == len(b.Route.Header)
		for i := 0; same && i < len(a.Route.Header); i++ {
			same = a.Route.Header[i] == b.Route.Header[i]
		}
		require.Equal(t, same, textA == textB)
	})
}

func FuzzParseDetail(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "a\x00", "\xff", "intentlog/1 -\n\nintentlog/", "intentlog/1 -\nintentlog-body: base64\n\n//4=",
		"intentlog/1 POST payments /v1\nA: b\n\nx", "intentlog/1 POST p /\nintentlog-body: base64\n\nAA=\n=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := intent.ParseDetail("a-1", text)
		if err != nil {
			return
		}
		again, err := in.Detail()
		require.NoError(t, err)
		require.Equal(t, text, again, "what parses is the one text of its intent")
	})
}
