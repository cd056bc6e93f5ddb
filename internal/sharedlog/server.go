package sharedlog

import (
	"encoding/gob"
	"net/http"

	"github.com/intentlog/intentlog/store"
)

// maxRequest bounds the body of a request: more than the largest batch of a store.
const maxRequest = 64 << 20

// Handler serves st, which stays the caller's to close.
func Handler(st store.Store) http.Handler {
	mux := http.NewServeMux()
	serve := func(path string, do func(w http.ResponseWriter, r *http.Request, req request)) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var req request
			if err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
				http.Error(w, "not a request", http.StatusBadRequest)
				return
			}
			do(w, r, req)
		})
	}
	serve("/buckets", func(w http.ResponseWriter, _ *http.Request, _ request) {
		write(w, answer{Buckets: st.Buckets()})
	})
	serve("/append", func(w http.ResponseWriter, r *http.Request, req request) {
		first, err := st.Append(r.Context(), req.Bucket, req.Events)
		write(w, answer{First: first, Failure: failed(err)})
	})
	serve("/bound", func(w http.ResponseWriter, r *http.Request, req request) {
		b, err := st.Bound(r.Context(), req.Bucket)
		write(w, answer{Bound: b, Failure: failed(err)})
	})
	serve("/read", func(w http.ResponseWriter, r *http.Request, req request) {
		out := gob.NewEncoder(w)
		err := st.Read(r.Context(), req.Bucket, req.From, req.To, func(rec *store.Record) error {
			return out.Encode(line{Record: rec})
		})
		_ = out.Encode(line{End: &answer{Failure: failed(err)}}) // without it the client sees a cut
	})
	return mux
}

// write answers; the client takes an answer that does not arrive for a cut.
func write(w http.ResponseWriter, a answer) { _ = gob.NewEncoder(w).Encode(a) }
