package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/store/sqlitestore"
)

// What SQLite would take for a database in memory, or for a URL, keeps no log.
func TestAPathThatNamesNoFileIsRefusedAndLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	require.NoError(t, os.MkdirAll(filepath.Join(work, "logs"), 0o700))
	t.Chdir(work)
	for _, path := range []string{"", ".", "..", "logs", "logs/", ":memory:", "file:x.db", "file:x.db?mode=memory"} {
		for _, opts := range []*sqlitestore.Options{nil, {MustExist: true}, {ReadOnly: true}} {
			_, err := sqlitestore.Open(path, opts)
			require.Error(t, err, "%q", path)
		}
	}
	var left []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		left = append(left, path)
		return err
	}))
	require.Equal(t, []string{dir, work, filepath.Join(work, "logs")}, left)
}
