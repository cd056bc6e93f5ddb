package sqlitestore_test

import (
	"fmt"
	"strings"

	"github.com/intentlog/intentlog/intent"
)

var benchDetail = `{"ticket":"ticket-1042","outcome":"needs-followup","note":"` + strings.Repeat("x", 400) + `"}`

// benchEvent is a request of about 460 bytes.
func benchEvent(i int64) intent.Event {
	job := intent.JobID(fmt.Sprintf("job-%d", i))
	return intent.Event{
		JobID: job, EventID: intent.NewEventID(job, 1, "0b9bb3d4-7d1b-4a6e-9df1-9a46b9c64e01", 4),
		Attempt: 1, Step: 4, Type: intent.ActionRequested, ActionID: intent.ActionID(fmt.Sprintf("action-%d", i)),
		PayloadDigest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		EmittedAtMS:   1760000000000 + i, Detail: benchDetail,
	}
}
