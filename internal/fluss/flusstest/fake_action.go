package flusstest

import (
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// Request is a request as a hook sees it.
type Request struct {
	Serial  int    // position among all requests of the fake, from 1
	Nth     int    // position among the requests of the same API, from 1
	Addr    string // the server that it came to
	Key     msg.Key
	Version int16
	Message msg.Request // nil when the fake does not know the API or cannot decode the request
}

// Action is what happens to a request. The zero Action lets the fake answer as a real server would. What is set is done in the order of
// the fields.
type Action struct {
	// DropRequest forgets the request: it has no effect and no answer.
	DropRequest bool
	// Skip leaves out the effect of the request; what is answered is then up to Code, BucketCode or Raw.
	Skip bool
	// Duplicate gives the request its effect twice, as if the network had; the answer is that of the first time.
	Duplicate bool
	// Edit, when set, may change the answer.
	Edit func(answer msg.Message)
	// Code, when set, is answered for the request as a whole, after its effect unless Skip is set.
	Code msg.Code
	// BucketCode, when set, is answered for each bucket of the request, after its effect unless Skip is set.
	BucketCode msg.Code
	// Raw, when set, is written in place of an answer.
	Raw []byte
	// Delay and Until hold the answer back. Later requests of the connection are not held up.
	Delay time.Duration
	Until <-chan struct{}
	// DropResponse keeps the answer to itself.
	DropResponse bool
	// Half writes only the first half of the answer and closes the connection.
	Half bool
	// Close closes the connection in place of an answer.
	Close bool
}

// Refuse is the Action that answers every bucket with an error code without doing what was asked.
func Refuse(code msg.Code) Action { return Action{Skip: true, BucketCode: code} }

// EditFetch is the Action that changes each bucket of a FetchLog answer.
func EditFetch(edit func(*msg.FetchLogResult)) Action {
	return Action{Edit: func(m msg.Message) {
		answer, ok := m.(*msg.FetchLogResponse)
		if !ok {
			return
		}
		for i := range answer.Tables {
			for j := range answer.Tables[i].Buckets {
				edit(&answer.Tables[i].Buckets[j])
			}
		}
	}}
}

// refuseBuckets makes the answer to req that has the code in each bucket; false when the API has no buckets.
func refuseBuckets(req msg.Request, code msg.Code) (msg.Message, bool) {
	fail := msg.Failure{Code: code, Message: "as the hook wants it"}
	switch m := req.(type) {
	case *msg.ProduceLogRequest:
		var out msg.ProduceLogResponse
		for _, b := range m.Buckets {
			out.Buckets = append(out.Buckets, msg.ProduceLogResult{Bucket: b.Bucket, Failure: fail, BaseOffset: -1})
		}
		return &out, true
	case *msg.PutKvRequest:
		var out msg.PutKvResponse
		for _, b := range m.Buckets {
			out.Buckets = append(out.Buckets, msg.PutKvResult{Bucket: b.Bucket, Failure: fail, BaseOffset: -1})
		}
		return &out, true
	case *msg.FetchLogRequest:
		var out msg.FetchLogResponse
		for _, t := range m.Tables {
			res := msg.FetchLogTableResult{TableID: t.TableID}
			for _, b := range t.Buckets {
				res.Buckets = append(res.Buckets, msg.FetchLogResult{Bucket: b.Bucket, Failure: fail, HighWatermark: -1})
			}
			out.Tables = append(out.Tables, res)
		}
		return &out, true
	case *msg.ListOffsetsRequest:
		var out msg.ListOffsetsResponse
		for _, b := range m.Buckets {
			out.Buckets = append(out.Buckets, msg.ListOffsetsResult{Bucket: b, Failure: fail, Offset: -1})
		}
		return &out, true
	case *msg.LookupRequest:
		var out msg.LookupResponse
		for _, b := range m.Buckets {
			out.Buckets = append(out.Buckets, msg.LookupResult{Bucket: b.Bucket, Failure: fail})
		}
		return &out, true
	case *msg.LimitScanRequest:
		return &msg.LimitScanResponse{Failure: fail}, true
	}
	return nil, false
}
