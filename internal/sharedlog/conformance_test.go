package sharedlog_test

import (
	"testing"

	"github.com/intentlog/intentlog/internal/sharedlog"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/memstore"
	"github.com/intentlog/intentlog/store/storetest"
)

// A log behind the wire keeps every promise of the one that it serves.
func TestASharedLogKeepsEveryPromise(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		st := memstore.New(3)
		c, srv := dial(t, sharedlog.Handler(st))
		return storetest.Harness{Store: c, Reopen: func() (store.Store, error) { return sharedlog.Dial(t.Context(), srv.URL) }}
	})
}
