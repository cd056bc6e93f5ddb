package record_test

import (
	"errors"
	"fmt"
	"io"

	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
)

func Example() {
	schema := row.Schema{{Name: "job", Kind: row.STRING}, {Name: "step", Kind: row.INT}}
	enc, err := record.NewEncoder(schema, record.Arrow)
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := enc.Append(nil, record.Meta{SchemaID: 1, WriterID: 5, Sequence: 0}, []row.Value{
		row.String("job-1"), row.Int(1),
		row.String("job-1"), row.Int(2),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	record.Stamp(batch, 40, 1700000000000) // the server's part
	dec, err := record.NewDecoder(schema, record.Arrow, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	scan := record.NewScanner(append(batch, batch[:20]...)) // an answer cut by size
	next := int64(41)
	for {
		b, err := scan.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, record.ErrCut) {
			fmt.Println("ask again at", next)
			return
		}
		if err == nil {
			err = dec.Reset(b, next)
		}
		for err == nil && dec.Next() {
			fmt.Println(dec.Offset(), dec.Row()[0].Text(), dec.Row()[1].Int64())
		}
		if err == nil {
			err = dec.Err()
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		next = b.NextOffset()
	}
	// Output:
	// 41 job-1 2
	// ask again at 42
}
