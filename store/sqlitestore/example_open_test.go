package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

func Example() {
	dir, err := os.MkdirTemp("", "intents")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	st, err := sqlitestore.Open(filepath.Join(dir, "intents.db"), nil)
	if err != nil {
		panic(err)
	}
	defer st.Close()
	first, err := st.Append(ctx, 0, []intent.Event{intent.NewBarrier("a", 1), intent.NewBarrier("b", 2)})
	fmt.Println("first offset", first, store.OutcomeOf(err))

	bound, err := st.Bound(ctx, 0)
	if err != nil {
		panic(err)
	}
	err = st.Read(ctx, 0, 0, bound.End, func(r *store.Record) error {
		fmt.Println(r.Offset, r.Event.EventID)
		return nil
	})
	fmt.Println("complete:", err == nil)
	// Output:
	// first offset 0 stored
	// 0 barrier/a
	// 1 barrier/b
	// complete: true
}
