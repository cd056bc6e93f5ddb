package main

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/flusstest"
)

func TestTheSecondRunIsAnsweredByTheLog(t *testing.T) {
	args := []string{"-bootstrap", flusstest.SharedCluster(t).Bootstrap(), "-table", "t" + uuid.NewString()[:8]}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), args, &out))
	require.Equal(t, "the service is asked for order-1729/1\norder-1729 is confirmed\n", out.String())
	out.Reset()
	require.NoError(t, run(t.Context(), args, &out))
	require.Equal(t, "order-1729 is confirmed\n", out.String())
}
