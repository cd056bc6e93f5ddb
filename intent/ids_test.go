package intent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
)

// uuidA and uuidB are two owners of every test.
const (
	uuidA = intent.OwnerID("0a0a0a0a-1111-4222-8333-444444444444")
	uuidB = intent.OwnerID("0b0b0b0b-1111-4222-8333-444444444444")
)

func TestIDsAreSafeEverywhere(t *testing.T) {
	for _, c := range []struct{ name, id, why string }{
		{"plain", "ticket-1042", ""},
		{"every_class", "AZaz09._:/-", ""},
		{"longest", strings.Repeat("x", intent.MaxIDLength), ""},
		{"empty", "", "an ID names something"},
		{"too_long", strings.Repeat("x", intent.MaxIDLength+1), "columns and headers are bounded"},
		{"newline", "job\nforged log line", "S9: log injection"},
		{"carriage_return", "job\r", "S9: log injection"},
		{"nul", "job\x00", "S9: NUL ends C strings"},
		{"ansi", "job\x1b[2J", "S9: terminal escape"},
		{"c1_escape", "job\u009b2J", "S9: 8-bit terminal escape"},
		{"delete", "job\x7f", "S9: control character"},
		{"space", "a job", "IDs are words of event lines"},
		{"not_utf8", "job\xff", "log columns are text"},
		{"letter_beyond_ascii", "jöb", "homographs"},
		{"percent", "job%20", "not allowed in S9"},
		{"backslash", `job\x`, "not allowed in S9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, jobErr := intent.ParseJobID(c.id)
			_, actionErr := intent.ParseActionID(c.id)
			_, ownerErr := intent.NewOwner(c.id)
			for _, err := range []error{jobErr, actionErr, ownerErr} {
				if c.why == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, intent.ErrBadID, c.why)
				require.NotContains(t, err.Error(), "\x1b", c.why)
				require.NotContains(t, err.Error(), "\n", c.why)
			}
		})
	}
}

func TestOwnersAreFreshUUIDs(t *testing.T) {
	a, err := intent.NewOwner("billing-0")
	require.NoError(t, err)
	b, err := intent.NewOwner("billing-0")
	require.NoError(t, err)
	require.Equal(t, "billing-0", a.Worker)
	require.NotEqual(t, a.ID, b.ID)
	require.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, a.ID)
}

func TestEventIDNamesItsColumns(t *testing.T) {
	for _, job := range []intent.JobID{
		"ticket-1042", "team/a/job", "a/1." + intent.JobID(uuidA) + "/1", "/", "-2147483648", "x/1",
		intent.JobID(strings.Repeat("/", intent.MaxIDLength)),
	} {
		for _, n := range []int32{1, 9, 10, 2147483647} {
			ev := intent.Event{
				JobID: job, Attempt: n, Step: n, Type: intent.Completed,
				EventID: intent.NewEventID(job, n, uuidA, n),
			}
			require.NoError(t, ev.Check(), job)
			require.Equal(t, uuidA, ev.Owner(), job)
		}
	}
	require.Equal(t, intent.EventID(fmt.Sprintf("team/a/3.%s/12", uuidA)), intent.NewEventID("team/a", 3, uuidA, 12))
}

func TestEventIDThatDoesNotFitIsRefused(t *testing.T) {
	u := string(uuidA)
	for name, id := range map[string]string{
		"empty":             "",
		"only_the_job":      "j",
		"other_job":         "k/12." + u + "/3",
		"job_is_a_prefix":   "j/x/12." + u + "/3",
		"no_slash":          "jx12." + u + "/3",
		"other_attempt":     "j/1." + u + "/3",
		"longer_attempt":    "j/123." + u + "/3",
		"zero_in_front":     "j/012." + u + "/3",
		"plus_in_front":     "j/+12." + u + "/3",
		"other_step":        "j/12." + u + "/4",
		"longer_step":       "j/12." + u + "/33",
		"no_step":           "j/12." + u,
		"empty_step":        "j/12." + u + "/",
		"no_owner":          "j/12./3",
		"upper_case_owner":  "j/12." + strings.ToUpper(u) + "/3",
		"braced_owner":      "j/12.{" + u + "}/3",
		"urn_owner":         "j/12.urn:uuid:" + u + "/3",
		"owner_no_dashes":   "j/12." + strings.ReplaceAll(u, "-", "") + "/3",
		"owner_with_slash":  "j/12." + u[:35] + "/" + "/3",
		"owner_not_hex":     "j/12." + u[:35] + "g/3",
		"newline_at_end":    "j/12." + u + "/3\n",
		"space_in_front":    " j/12." + u + "/3",
		"attempt_no_owner.": "j/12/3",
	} {
		t.Run(name, func(t *testing.T) {
			ev := intent.Event{JobID: "j", Attempt: 12, Step: 3, Type: intent.Completed, EventID: intent.EventID(id)}
			require.ErrorIs(t, ev.Check(), intent.ErrMalformed)
			require.Empty(t, ev.Owner())
		})
	}
}
