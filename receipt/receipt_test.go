package receipt_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

func TestReceiptsComeBackAsTheyWere(t *testing.T) {
	for name, r := range map[string]receipt.Receipt{
		"smallest":           {Action: "a", Digest: fits.Digest},
		"text":               {Action: "a", Digest: fits.Digest, Reference: "r<1>&", Code: 201, MediaType: "text/plain", Body: []byte("ü\x00\"<>")},
		"no text":            {Action: "a", Digest: fits.Digest, Body: []byte{0xff, 0, 1}},
		"all escapes":        {Action: "a", Digest: fits.Digest, Body: bytes.Repeat([]byte{1}, receipt.MaxReceipt)},
		"largest of no text": {Action: "a", Digest: fits.Digest, Body: bytes.Repeat([]byte{0xff}, receipt.MaxReceipt)},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := r.Encode()
			require.NoError(t, err)
			require.LessOrEqual(t, len(text), intent.MaxDetail)
			require.True(t, strings.HasPrefix(text, `{"action_id":"a","payload_digest":"`), "where readers of the log look")
			got, err := receipt.Parse(text)
			require.NoError(t, err)
			require.Equal(t, string(r.Body), string(got.Body))
			got.Body, r.Body = nil, nil
			require.Equal(t, r, *got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             ``,
		"null":                `null`,
		"a list":              `[]`,
		"an unknown field":    `{"action_id":"a","payload_digest":"b","more":1}`,
		"a key twice":         `{"action_id":"a","action_id":"b"}`,
		"a key in capitals":   `{"action_id":"a","Action_ID":"b"}`,
		"a key with a long s": "{\"action_id\":\"a\",\"bo\u017fdy\":\"b\"}",
		"two values":          `{"action_id":"a"}{}`,
		"two bodies":          `{"action_id":"a","body":"x","body_base64":"eA=="}`,
		"a bad base64":        `{"action_id":"a","body_base64":"eA"}`,
		"a cut text":          `{"action_id":"a"`,
	} {
		_, err := receipt.Parse(text)
		require.ErrorIs(t, err, receipt.ErrBadReceipt, name)
	}
}

func TestReceiptsPrintWithoutTheirBodies(t *testing.T) {
	r := receipt.Receipt{Action: "a", Body: []byte("secret")}
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", r, &r, r, r), "secret")
}

func FuzzParse(f *testing.F) {
	for _, r := range []receipt.Receipt{fits, {Action: "a", Body: []byte{0xff}}, {Code: 7, Reference: "ü", MediaType: "x/y", Body: []byte("z")}} {
		text, err := r.Encode()
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add(`{"action_id":"a","Action_ID":"b"}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := receipt.Parse(text)
		if err != nil {
			require.ErrorIs(t, err, receipt.ErrBadReceipt)
			return
		}
		again, err := r.Encode()
		if len(text) > receipt.MaxReceipt && err != nil {
			return
		}
		require.NoError(t, err)
		same, err := receipt.Parse(again)
		require.NoError(t, err)
		require.Equal(t, r, same)
	})
}

func FuzzDocument(f *testing.F) {
	for _, state := range []receipt.State{receipt.StateCommitted, receipt.StateAbsent, receipt.StateInFlight, receipt.StateConflict, receipt.StateRejected} {
		for _, status := range []int{200, 201, 202, 404, 409, 422} {
			f.Add(status, document(state, &fits))
			f.Add(status, document(state, nil))
		}
	}
	f.Add(200, strings.Replace(document(receipt.StateCommitted, &fits), "{", `{"State":"absent",`, 1))
	header := http.Header{"Content-Type": {"application/json"}}
	f.Fuzz(func(t *testing.T, status int, body string) {
		a := receipt.Interpret(req, status, header, []byte(body))
		switch a.Result {
		case receipt.Accepted:
			require.Contains(t, []int{200, 201}, status)
			require.NotNil(t, a.Receipt)
		case receipt.Refused:
			require.Equal(t, 422, status)
		case receipt.Mismatch:
			require.Equal(t, 409, status)
		case receipt.Busy:
			require.Contains(t, []int{202, 409}, status)
		case receipt.Lost:
			require.NotEmpty(t, a.Reason)
			return
		}
		require.LessOrEqual(t, len(a.Message()), 256)
	})
}
