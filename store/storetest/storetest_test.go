package storetest_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/sqlitestore"
	"github.com/intentlog/intentlog/store/storetest"
)

func TestMemstoreKeepsEveryPromise(t *testing.T) {
	for _, buckets := range []int{1, 3} {
		storetest.Run(t, func(*testing.T) storetest.Harness {
			st := memstore.New(buckets)
			return storetest.Harness{Store: st, Reopen: func() (store.Store, error) { return st.Reopen(), nil }}
		})
	}
}

func TestSqlitestoreKeepsEveryPromise(t *testing.T) {
	for _, buckets := range []int{1, 3} {
		storetest.Run(t, func(t *testing.T) storetest.Harness {
			path := filepath.Join(t.TempDir(), "log.db")
			st, err := sqlitestore.Open(path, &sqlitestore.Options{Buckets: buckets})
			require.NoError(t, err)
			return storetest.Harness{Store: st, Reopen: func() (store.Store, error) {
				return sqlitestore.Open(path, &sqlitestore.Options{MustExist: true})
			}}
		})
	}
}
