package intentlog_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store/memstore"
)

// Text that is nothing but escapes is longer as JSON than as base64.
func TestAComputationMayReturnAnyBytesUpToTheLimit(t *testing.T) {
	log := memstore.New(1)
	for name, result := range map[string][]byte{
		"escapes": bytes.Repeat([]byte("\"\n"), 400<<10),
		"control": bytes.Repeat([]byte{1}, 700<<10),
	} {
		job := intent.JobID(name)
		j, err := open(t, log, "w", nil).Job(t.Context(), job, nil)
		require.NoError(t, err)
		_, err = j.Compute(t.Context(), "c", func(context.Context) ([]byte, error) { return result, nil })
		require.NoError(t, err, name)
		next := open(t, log.Reopen(), "w", nil)
		_, err = next.Recover(t.Context())
		require.NoError(t, err, name)
		j, err = next.Job(t.Context(), job, nil)
		require.NoError(t, err)
		got, err := j.Compute(t.Context(), "c", func(context.Context) ([]byte, error) { t.Error("ran"); return nil, nil })
		require.NoError(t, err)
		require.True(t, bytes.Equal(result, got), name)
	}
}
