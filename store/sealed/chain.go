package sealed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/intentlog/intentlog/intent"
)

// chain is the running hash over the records of one bucket:
//
//	hash(0)   = SHA-256("intentlog sealed/1 chain", log, bucket)
//	hash(n+1) = SHA-256(hash(n), tag of the record at offset n)
//
// An event that carries hash(n) vouches for every record below n and for their
// order, whoever wrote them.
//
// The rejected way is a link to the job's event before: it costs less memory, but
// lets anybody who can write take the newest events of a job out of the middle of
// the log, as long as he takes all of them.
type chain struct {
	mu   sync.Mutex
	hash [sha256.Size]byte
	// seen holds a seeded sum of hash(n) for every n up to the records seen: 64 bits
	// of a seed that nobody outside knows are enough to compare, and take a quarter.
	seen []uint64
	// ahead holds the tags of own events behind records that were not read yet.
	ahead map[int64][tagSize]byte
	// doubt holds the links of own events that may be in the log, so that they are
	// the same bytes when they are appended again.
	doubt map[intent.EventID]link
	end   int64 // greatest end that was acknowledged to this store
	mark  Mark
}

// maxAhead bounds ahead for users who append and never read.
const maxAhead = 1 << 16

var seed = maphash.MakeSeed()

// Mark is a place in a bucket with the hash over everything below it. Kept outside
// the log it shows a later life whether that is all still there.
type Mark struct {
	End  int64  // records
	Hash string // 64 hex digits; empty for no mark
}

func newChain(log string, bucket int, mark Mark) *chain {
	c := &chain{ahead: map[int64][tagSize]byte{}, doubt: map[intent.EventID]link{}, mark: mark}
	start := binary.BigEndian.AppendUint64([]byte("intentlog sealed/1 chain\x00"), uint64(bucket))
	c.hash = sha256.Sum256(append(start, log...))
	c.noteLocked()
	return c
}

func (c *chain) noteLocked() { c.seen = append(c.seen, maphash.Bytes(seed, c.hash[:linkSize])) }

// endLocked is how many records were seen.
func (c *chain) endLocked() int64 { return int64(len(c.seen) - 1) }

// linksFor returns the links of events that are about to be appended.
func (c *chain) linksFor(events []intent.Event) []link {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := link{at: c.endLocked(), hash: [linkSize]byte(c.hash[:linkSize])}
	links := make([]link, len(events))
	for i := range events {
		old, ok := c.doubt[events[i].EventID]
		if links[i] = now; ok {
			links[i] = old
		}
	}
	return links
}

// inDoubt keeps the links of events that may be in the log.
func (c *chain) inDoubt(events []intent.Event, links []link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range events {
		if events[i].Type != intent.Barrier { // a barrier is never repeated
			c.doubt[events[i].EventID] = links[i]
		}
	}
}

// stored takes own events that stand from first on.
func (c *chain) stored(first int64, events []intent.Event, tags [][tagSize]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range events {
		delete(c.doubt, events[i].EventID)
		if at := first + int64(i); at >= c.endLocked() && len(c.ahead) < maxAhead {
			c.ahead[at] = tags[i]
		}
	}
	return c.catchUpLocked()
}

// acknowledged notes an end that the log has acknowledged.
func (c *chain) acknowledged(end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = max(c.end, end)
}

// known is the greatest end that the log has acknowledged.
func (c *chain) known() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// check compares a link with what was seen. Reading on in order, offset by offset,
// it always can; of a range further on there is nothing to compare with yet.
func (c *chain) check(offset int64, l link) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case l.at > offset:
		return fmt.Errorf("%w: it stands on %d records", ErrUntrusted, l.at)
	case l.at <= c.endLocked() && c.seen[l.at] != maphash.Bytes(seed, l.hash[:]):
		return fmt.Errorf("%w: the %d records that it stands on are not these", ErrUntrusted, l.at)
	}
	return nil
}

// read takes the tag of a record that was read; one that was seen before changes
// nothing.
func (c *chain) read(offset int64, tag [tagSize]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if offset != c.endLocked() {
		return nil
	}
	c.ahead[offset] = tag
	return c.catchUpLocked()
}

// catchUpLocked hashes on as far as tags are known.
func (c *chain) catchUpLocked() error {
	for {
		end := c.endLocked()
		if c.mark.Hash != "" && end == c.mark.End && hex.EncodeToString(c.hash[:]) != c.mark.Hash {
			return fmt.Errorf("%w: the %d records below the mark are not those that it was taken of", ErrUntrusted, end)
		}
		tag, ok := c.ahead[end]
		if !ok {
			return nil
		}
		delete(c.ahead, end)
		c.hash = sha256.Sum256(append(c.hash[:], tag[:]...))
		c.noteLocked()
	}
}

// here is the mark at all that was seen.
func (c *chain) here() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Mark{End: c.endLocked(), Hash: hex.EncodeToString(c.hash[:])}
}
