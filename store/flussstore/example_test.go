package flussstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentlog/intentlog/internal/fluss/flusstest"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/flussstore"
)

// A log for a fleet: three copies of each record, two of them before an append
// counts. This cluster promises less, so the log is not opened.
func ExampleOpen() {
	fake, err := flusstest.NewFake(flusstest.FakeOptions{Tablets: 3, TCP: true})
	if err != nil {
		panic(err)
	}
	defer fake.Close()
	ctx, bootstrap := context.Background(), fake.Bootstrap()

	st, err := flussstore.Open(ctx, bootstrap, &flussstore.Options{
		Create: true, Buckets: 3, Replicas: 3,
		Require: flussstore.Durability{Replicas: 3, MinISR: 2},
	})
	if errors.Is(err, store.ErrNotDurableEnough) {
		fmt.Println("refused:", store.ErrNotDurableEnough)
		return
	}
	if err != nil {
		panic(err)
	}
	defer st.Close()
	// Output: refused: the log does not meet the required durability
}
