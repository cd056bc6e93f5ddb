package intent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlainObjectsAreKnown(t *testing.T) {
	for _, text := range []string{
		`{"action_id":"job/1","code":201,"body":"{\"ok\":true}\n"}`, `{"a":0}`, `{"":""}`,
	} {
		require.True(t, plainObject(text), text)
	}
	for _, text := range []string{"", "{", "{}", `{"a"}`, `{"a":}`, `{"a":01}`, `{"a":"\x"}`, `{"a":"`, `{"a":"\`, "{\"a\":\"\n\"}", `{"a":1,}`, `{"a":1}}`, `{"a":1.5}`, `{a:1}`} {
		require.False(t, plainObject(text), text)
	}
}

func FuzzPlainObjectsAreValid(f *testing.F) {
	f.Add(`{"a":"b","c":12}`)
	f.Add(`{"a":"\u0041"}`)
	f.Add(`{"a":"\"","b":0}`)
	f.Fuzz(func(t *testing.T, text string) {
		if plainObject(text) && !json.Valid([]byte(text)) {
			t.Fatalf("%q is no JSON", text)
		}
	})
}
