package flussstore_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
	"github.com/intentlog/intentlog/store/sealed"
	"github.com/intentlog/intentlog/store/storetest"
)

// TestASealedLogKeepsEveryPromiseToo: its bounds are sealed barriers, since those
// that this store would append have no seal.
func TestASealedLogKeepsEveryPromiseToo(t *testing.T) {
	keys := sealed.Keys{Use: "k", ByID: map[string][]byte{"k": bytes.Repeat([]byte{7}, sealed.KeySize)}}
	seal := func(st store.Store) (store.Store, error) {
		return sealed.New(st, "log", keys, &sealed.Options{SignBarriers: true})
	}
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		fake, err := flusstest.NewFake(flusstest.FakeOptions{Tablets: 2})
		require.NoError(t, err)
		t.Cleanup(fake.Close)
		h := harness(t, fake.Bootstrap(), flussstore.Options{Dial: fake.Dial, Create: true, Buckets: 3})
		reopen := h.Reopen
		h.Store, err = seal(h.Store)
		require.NoError(t, err)
		h.Reopen = func() (store.Store, error) {
			st, err := reopen()
			if err != nil {
				return nil, err
			}
			return seal(st)
		}
		return h
	})
}
