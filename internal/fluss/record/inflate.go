package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/intentlog/intentlog/internal/fluss/sticky"
)

// Arrow compresses each buffer by itself: int64 size of the plain bytes, then one frame; size -1 means that the plain
// bytes follow as they are. An empty buffer has no size either.

var errSize = errors.New("other size than declared")

// inflater decompresses ARROW bodies and keeps its codecs and memory from batch to batch.
type inflater struct {
	lz4     *lz4.Reader
	zstd    *zstd.Decoder
	plain   []byte // the plain body
	entries []byte // buffer list of the plain body
}

// inflate returns the buffers of l uncompressed. It adds up the declared sizes before it makes room for any of them.
func (f *inflater) inflate(codec int, l bufferList, limit, offset int64) (bufferList, error) {
	corrupt := func(reason string, err error) (bufferList, error) {
		return bufferList{}, &CorruptError{offset, reason, err}
	}
	total := int64(0)
	for sum := l; sum.entries != ""; {
		b, ok := sum.next()
		if !ok {
			return corrupt("ARROW buffer outside the body", nil)
		}
		_, size, err := frame(b)
		if err != nil {
			return corrupt("compressed buffer", err)
		}
		if size > limit || total > limit-size {
			return bufferList{}, &LimitError{offset, max(size, total+size), limit}
		}
		total += size
	}
	if int64(cap(f.plain)) < total {
		f.plain = make([]byte, 0, total)
	}
	f.plain, f.entries = f.plain[:0], f.entries[:0]
	for l.entries != "" {
		b, _ := l.next()
		content, size, _ := frame(b)
		at := len(f.plain)
		dst := f.plain[at : at : at+int(size)]
		var err error
		switch {
		case !compressed(b):
			dst = append(dst, content...)
		case codec == codecZSTD:
			dst, err = f.zstdFrame(dst, content)
		default:
			dst, err = f.lz4Frame(dst, content)
		}
		if err == nil && int64(len(dst)) != size {
			err = errSize
		}
		if err != nil {
			return corrupt(fmt.Sprintf("compressed buffer of %d bytes", size), err)
		}
		f.plain = f.plain[:at+len(dst)]
		f.entries = binary.LittleEndian.AppendUint64(f.entries, uint64(at))
		f.entries = binary.LittleEndian.AppendUint64(f.entries, uint64(size))
	}
	return bufferList{string(f.entries), string(f.plain)}, nil
}

// frame parts a buffer into its content and the size of that when plain.
func frame(b string) (content string, size int64, err error) {
	if b == "" {
		return "", 0, nil
	}
	r := sticky.New(b)
	size = int64(r.Uint64())
	if err := r.Err(); err != nil {
		return "", 0, err
	}
	content = r.Take(r.Len())
	if size == -1 {
		return content, int64(len(content)), nil
	}
	if size < 0 {
		return "", 0, fmt.Errorf("size %d", size)
	}
	return content, size, nil
}

func compressed(b string) bool { return b != "" && int64(sticky.Uint64(b)) != -1 }

// zstdFrame decompresses into dst, never beyond its capacity.
func (f *inflater) zstdFrame(dst []byte, content string) ([]byte, error) {
	if f.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		f.zstd = d
	}
	return f.zstd.DecodeAll([]byte(content), dst)
}

// lz4Frame decompresses into dst, never beyond its capacity.
func (f *inflater) lz4Frame(dst []byte, content string) ([]byte, error) {
	if f.lz4 == nil {
		f.lz4 = lz4.NewReader(nil)
	}
	f.lz4.Reset(strings.NewReader(content))
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
