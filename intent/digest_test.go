package intent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

func TestDigestIsSHA256InLowerCaseHex(t *testing.T) {
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	require.Equal(t, intent.Digest(abc), intent.DigestOf([]byte("abc")))
	d, err := intent.ParseDigest(abc)
	require.NoError(t, err)
	require.True(t, d.Equal(intent.New("a", []byte("abc")).Digest()))
	require.False(t, d.Equal(intent.DigestOf(nil)))
	require.False(t, intent.Digest("").Equal(""), "no digest proves nothing")

	for name, s := range map[string]string{
		"empty":      "",
		"upper_case": strings.ToUpper(abc),
		"short":      abc[1:],
		"long":       abc + "0",
		"not_hex":    abc[:63] + "g",
		"newline":    abc[:63] + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := intent.ParseDigest(s)
			require.ErrorIs(t, err, intent.ErrBadDigest)
		})
	}
}

func TestDerivedActionIDs(t *testing.T) {
	key := []byte("0123456789abcdef")
	id, err := intent.DeriveActionID(key, "ticket-1042", "followup")
	require.NoError(t, err)
	require.Equal(t, intent.ActionID("act-cbcbd34cd40876040e6f8b263839a8794a5d9c6e8c6034742e961288edafb50a"), id)
	require.NoError(t, intent.CheckID("action id", string(id)))

	other, err := intent.DeriveActionID([]byte("0123456789abcdeX"), "ticket-1042", "followup")
	require.NoError(t, err)
	require.NotEqual(t, id, other, "S6: nobody without the key can tell")

	_, err = intent.DeriveActionID(key[:15], "j", "n")
	require.Error(t, err)
}

func TestDerivedActionIDsDoNotCollide(t *testing.T) {
	key := []byte("0123456789abcdef")
	seen := map[intent.ActionID]string{}
	try := func(job intent.JobID, name string) {
		id, err := intent.DeriveActionID(key, job, name)
		require.NoError(t, err)
		if was, dup := seen[id]; dup {
			t.Fatalf("%s and %q/%q share %s", was, job, name, id)
		}
		seen[id] = fmt.Sprintf("%q/%q", job, name)
	}
	// A byte that moves between the fields makes another ID.
	try("ab", "c")
	try("a", "bc")
	try("a", ":bc")
	try("1:a", "bc")
	for i := range 100_000 {
		try(intent.JobID(fmt.Sprintf("job-%d", i/3)), fmt.Sprintf("name-%d", i%3))
	}
}
