package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheAgentIsToldAndBlockedUntilItIsKnown(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), nil, &out))
	require.Equal(t, `user: Tell Ann that the meeting is at ten.
model: calls calendar(ten o'clock)
tool: Ten o'clock is free.
model: calls send_email(Ann, the meeting is at ten.)
tool: send_email, run-7/step-2: it is not known whether it was done (transport). Do not do it again in other words; you will be told.
model: calls send_email(Ann, did you get my mail? The meeting is at ten.)
tool: send_email is blocked: it is still not known what became of run-7/step-2. Nothing was done.
model: I wrote to Ann, and cannot tell yet whether my mail went out.
-- the mail service is back
tool: send_email, run-7/step-2: it was done, once.
model: Ann was told.
-- e-mails that went out: 1
`, out.String())
}
