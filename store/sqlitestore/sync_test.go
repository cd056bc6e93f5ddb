package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryCommitIsSynced: an append is acknowledged when COMMIT returns, and with
// these two settings, and only with them, COMMIT in a write-ahead log returns when
// the disk has it. 2 is FULL.
func TestEveryCommitIsSynced(t *testing.T) {
	st, err := Open(filepath.Join(t.TempDir(), "log.db"), nil)
	require.NoError(t, err)
	defer st.Close()
	v, err := st.writer.ints("PRAGMA synchronous", 1)
	require.NoError(t, err)
	require.Equal(t, int64(2), v[0])
	wal, err := st.writer.ints("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'", 1)
	require.NoError(t, err)
	require.Equal(t, int64(1), wal[0])
}
