package msg

// Many answers are nothing but one repeated message in field 1: one entry for each
// bucket, or table, that was asked about.

// entry is a pointer to a message of type E.
type entry[E any] interface {
	*E
	Message
}

// appendAll encodes a message that is nothing but entries.
func appendAll[E any, P entry[E]](b []byte, entries []E) []byte {
	for i := range entries {
		b = nested(b, 1, P(&entries[i]))
	}
	return b
}

// decodeAll decodes one, behind what is in entries. The room of entries is used again.
func decodeAll[E any, P entry[E]](b []byte, entries []E) ([]E, error) {
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			var e E
			r.Check(P(&e).Decode(r.Message()))
			entries = append(entries, e)
		}
	}
	return entries, r.Done()
}
