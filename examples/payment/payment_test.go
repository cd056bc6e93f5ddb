package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLostAnswerIsAskedForUnderTheSameKey(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{dir}, &out))
	require.Equal(t, `order-1729: confirmed
receipt: {"id":"ch_1","amount":1799,"paid":true}
Stripe was asked under [order-1729/1 order-1729/1]; charges: 1
`, out.String())

	out.Reset()
	require.NoError(t, run(t.Context(), []string{dir}, &out), "a second run finds the charge in the log")
	require.Equal(t, `order-1729: confirmed
receipt: {"id":"ch_1","amount":1799,"paid":true}
Stripe was asked under []; charges: 0
`, out.String())
}
