package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/intentlog/intentlog/internal/fluss"
	"github.com/intentlog/intentlog/internal/fluss/msg"
	"github.com/intentlog/intentlog/internal/fluss/record"
	"github.com/intentlog/intentlog/internal/fluss/row"
	"github.com/intentlog/intentlog/internal/fluss/wire"
	"github.com/intentlog/intentlog/store/flussstore"
)

// rawFluss is the floor of everything on Fluss: prebuilt frames over one connection
// to the leader, without a client. Its batches have no writer ID, so that the same
// frame may be sent any number of times.
type rawFluss struct {
	nc      net.Conn
	r       *bufio.Reader
	body    []byte
	id      int32
	tableID int64
	enc     *record.Encoder
	schema  int16
	columns int
}

// raw connects to the leader of a table that exists.
func (b *flussBench) raw(ctx context.Context, name string, format flussstore.Format) (*rawFluss, error) {
	c := fluss.New(fluss.Options{Bootstrap: []string{b.bootstrap}})
	t, err := c.Table(ctx, fluss.Path{Database: b.database, Table: b.table(name, format)})
	if err := errors.Join(err, c.Close()); err != nil {
		return nil, err
	}
	info := t.Info()
	f := record.Arrow
	if format == flussstore.Indexed {
		f = record.Indexed
	}
	w := &rawFluss{tableID: info.ID, schema: int16(info.SchemaID), columns: len(info.Schema)}
	if w.enc, err = record.NewEncoder(info.Schema, f); err != nil {
		return nil, err
	}
	if err := w.dial(ctx, b.bootstrap); err != nil {
		return nil, err
	}
	addr, err := w.leader(msg.TablePath{Database: b.database, Table: b.table(name, format)})
	_ = w.nc.Close()
	if err != nil {
		return nil, err
	}
	return w, w.dial(ctx, addr)
}

func (w *rawFluss) dial(ctx context.Context, addr string) (err error) {
	var d net.Dialer
	if w.nc, err = d.DialContext(ctx, "tcp", addr); err != nil {
		return err
	}
	w.r = bufio.NewReaderSize(w.nc, 64<<10)
	return w.ask(&msg.ApiVersionsRequest{Software: "intentlog-bench", Version: "1"}, &msg.ApiVersionsResponse{})
}

// leader finds where bucket 0 of a table is led.
func (w *rawFluss) leader(path msg.TablePath) (string, error) {
	var m msg.MetadataResponse
	if err := w.ask(&msg.MetadataRequest{Tables: []msg.TablePath{path}}, &m); err != nil {
		return "", err
	}
	for _, t := range m.Tables {
		for _, k := range t.Buckets {
			for _, n := range m.Tablets {
				if k.Bucket == 0 && k.Leader != nil && *k.Leader == n.ID {
					return net.JoinHostPort(n.Host, strconv.Itoa(int(n.Port))), nil
				}
			}
		}
	}
	return "", fmt.Errorf("no leader of %s.%s", path.Database, path.Table)
}

func (w *rawFluss) close() { _ = w.nc.Close() }

func (w *rawFluss) ask(req msg.Request, resp msg.Message) error {
	body, err := w.roundTrip(req.Append(wire.AppendRequest(nil, int16(req.Key()), 0, 0, 0)))
	if err != nil {
		return err
	}
	return resp.Decode(body)
}

// roundTrip sends a frame and waits for its answer, which the next one overwrites.
func (w *rawFluss) roundTrip(frame []byte) ([]byte, error) {
	if err := w.send(frame); err != nil {
		return nil, err
	}
	return w.receive()
}

func (w *rawFluss) send(frame []byte) error {
	w.id++
	wire.SetRequest(frame, w.id)
	_, err := w.nc.Write(frame)
	return err
}

func (w *rawFluss) receive() ([]byte, error) {
	var scratch [9]byte
	h, err := wire.ReadHeader(w.r, &scratch, wire.DefaultMaxFrame)
	if err != nil {
		return nil, err
	}
	if w.body, err = wire.ReadBody(w.r, h.Body, w.body); err != nil {
		return nil, err
	}
	if h.Kind != wire.KindSuccess {
		var e msg.ErrorResponse
		_ = e.Decode(w.body)
		return nil, fmt.Errorf("raw request refused: %d %s", e.Code, e.Message)
	}
	return w.body, nil
}

// produce is the frame that appends n events.
func (w *rawFluss) produce(n int) ([]byte, error) {
	var values []row.Value
	for i := range n {
		e := requested(i)
		values = append(values,
			row.String(string(e.JobID)), row.String(string(e.EventID)), row.Int(e.Attempt), row.Int(e.Step),
			row.String(string(e.Type)), row.String(string(e.ActionID)), row.String(string(e.PayloadDigest)),
			row.Bigint(e.EmittedAtMS), row.String(e.Detail))
	}
	batch, err := w.enc.Append(nil, record.Meta{SchemaID: w.schema, WriterID: -1, Sequence: -1}, values)
	if err != nil {
		return nil, err
	}
	frame := wire.AppendRequest(nil, int16(msg.KeyProduceLog), 0, 0, 0)
	frame = msg.AppendBatchPrefix(frame, msg.KeyProduceLog, w.tableID, int32(10*time.Second/time.Millisecond), 0, len(batch))
	return append(frame, batch...), nil
}

// stored checks the answer to a produce frame.
func stored(body []byte, err error) error {
	if err != nil {
		return err
	}
	var m msg.ProduceLogResponse
	if err := m.Decode(body); err != nil {
		return err
	}
	if len(m.Buckets) != 1 || m.Buckets[0].Code != msg.None {
		return fmt.Errorf("raw append refused: %+v", m.Buckets)
	}
	return nil
}

// rate sends a frame of rows rows n times with window of them in flight, and returns rows per second.
func (w *rawFluss) rate(frame []byte, rows, n, window int) (float64, error) {
	start := time.Now()
	for i := range n + window {
		if i >= window {
			if err := stored(w.receive()); err != nil {
				return 0, err
			}
		}
		if i < n {
			if err := w.send(frame); err != nil {
				return 0, err
			}
		}
	}
	return float64(n*rows) / time.Since(start).Seconds(), nil
}

// fetch reads [0, to) and checks the sum of each batch, and nothing else. It
// returns records per second.
func (w *rawFluss) fetch(to int64) (float64, error) {
	const size = 2 << 20
	start := time.Now()
	for next := int64(0); next < to; {
		var m msg.FetchLogResponse
		err := w.ask(&msg.FetchLogRequest{FollowerID: -1, MaxBytes: size, MinBytes: 1, MaxWaitMs: 100, Tables: []msg.FetchLogTable{{
			TableID: w.tableID, Buckets: []msg.FetchLogBucket{{Offset: next, MaxBytes: size}},
		}}}, &m)
		if err != nil {
			return 0, err
		}
		if len(m.Tables) != 1 || len(m.Tables[0].Buckets) != 1 || m.Tables[0].Buckets[0].Code != msg.None {
			return 0, fmt.Errorf("raw fetch refused: %+v", m.Tables)
		}
		for s := record.NewScanner(m.Tables[0].Buckets[0].Records); ; {
			batch, err := s.Next()
			if err == io.EOF || err == record.ErrCut {
				break
			}
			if err != nil {
				return 0, err
			}
			next = batch.NextOffset()
		}
	}
	return float64(to) / time.Since(start).Seconds(), nil
}
