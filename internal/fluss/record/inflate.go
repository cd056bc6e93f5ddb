package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Arrow compresses each buffer by itself: int64 size of the plain bytes, then one frame; size -1 means that the plain
// bytes follow as they are. An empty buffer has no size either.

var errSize = errors.New("other size than declared")

// inflater decompresses ARROW bodies and keeps its codecs and memory from batch to batch.
type inflater struct {
	lz4   *lz4.Reader
	zstd  *zstd.Decoder
	plain []byte // the plain body
	list  []byte // its buffer list
}

// inflate returns buffer list and body uncompressed; both are good until its next call. It adds up the declared sizes
// before it makes room for any of them.
func (f *inflater) inflate(codec int, list, body []byte, limit, offset int64) (plainList, plain []byte, err error) {
	total := int64(0)
	for rest := list; len(rest) > 0; rest = rest[16:] {
		from, to, ok := bufferBounds(rest, len(body))
		if !ok {
			return nil, nil, &CorruptError{offset, "ARROW buffer outside the body", nil}
		}
		b, err := parseBuffer(body[from:to])
		if err != nil {
			return nil, nil, &CorruptError{offset, "compressed buffer", err}
		}
		if b.size > limit || total > limit-b.size {
			return nil, nil, &LimitError{offset, max(b.size, total+b.size), limit}
		}
		total += b.size
	}
	if int64(cap(f.plain)) < total {
		f.plain = make([]byte, 0, total)
	}
	f.plain, f.list = f.plain[:0], f.list[:0]
	for rest := list; len(rest) > 0; rest = rest[16:] {
		from, to, _ := bufferBounds(rest, len(body))
		b, _ := parseBuffer(body[from:to])
		at := len(f.plain)
		dst, err := f.expand(f.plain[at:at:at+int(b.size)], codec, b)
		if err == nil && int64(len(dst)) != b.size {
			err = errSize
		}
		if err != nil {
			return nil, nil, &CorruptError{offset, fmt.Sprintf("compressed buffer of %d bytes", b.size), err}
		}
		f.plain = f.plain[:at+len(dst)]
		f.list = binary.LittleEndian.AppendUint64(f.list, uint64(at))
		f.list = binary.LittleEndian.AppendUint64(f.list, uint64(b.size))
	}
	return f.list, f.plain, nil
}

// buffer is a compressed buffer taken apart.
type buffer struct {
	content []byte
	size    int64 // when plain, as declared
	stored  bool  // content is plain
}

func parseBuffer(b []byte) (buffer, error) {
	if len(b) == 0 {
		return buffer{stored: true}, nil
	}
	if len(b) < 8 {
		return buffer{}, fmt.Errorf("%d bytes are no size", len(b))
	}
	size := int64(binary.LittleEndian.Uint64(b))
	switch b = b[8:]; {
	case size == -1:
		return buffer{b, int64(len(b)), true}, nil
	case size < 0:
		return buffer{}, fmt.Errorf("size %d", size)
	}
	return buffer{b, size, false}, nil
}

// expand appends the plain bytes to the empty dst, never beyond its capacity, which is the declared size.
func (f *inflater) expand(dst []byte, codec int, b buffer) ([]byte, error) {
	switch {
	case b.stored:
		return append(dst, b.content...), nil
	case codec == codecZSTD:
		return f.expandZSTD(dst, b.content)
	}
	return f.expandLZ4(dst, b.content)
}

func (f *inflater) expandZSTD(dst, content []byte) ([]byte, error) {
	if f.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		f.zstd = d
	}
	return f.zstd.DecodeAll(content, dst)
}

func (f *inflater) expandLZ4(dst, content []byte) ([]byte, error) {
	if f.lz4 == nil {
		f.lz4 = lz4.NewReader(nil)
	}
	f.lz4.Reset(bytes.NewReader(content))
	dst = dst[:cap(dst)]
	if _, err := io.ReadFull(f.lz4, dst); err != nil {
		return nil, err
	}
	var more [1]byte
	if n, err := f.lz4.Read(more[:]); n > 0 || !errors.Is(err, io.EOF) {
		return nil, errors.Join(errSize, err)
	}
	return dst, nil
}
