package main

import (
	"fmt"
	"strings"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/recovery"
)

// report is what a worker process tells its supervisor when it is done.
type report struct {
	Decisions []decision `json:"decisions,omitempty"`
	Lost      bool       `json:"lost,omitempty"`   // another owner's claim came first
	Fenced    bool       `json:"fenced,omitempty"` // another owner had taken the job
	GoOn      bool       `json:"go_on,omitempty"`  // nothing was in doubt: the worker did the rest itself
	Sends     int        `json:"sends,omitempty"`  // of this process, by its own count
}

// decision is one answer to the question what became of an action.
type decision struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason,omitempty"`
}

// reportOf tells what a recovery did.
func reportOf(r *intentlog.Report) report {
	out := report{Lost: len(r.Lost) > 0, GoOn: len(r.Decisions) == 0 && len(r.Lost) == 0}
	for i, d := range r.Decisions {
		out.Decisions = append(out.Decisions, decision{d.Kind.String(), string(d.Reason)})
		o := r.Outcomes[i]
		out.Sends += o.Sends
		out.GoOn = out.GoOn || o.Status == intentlog.Resumable
	}
	return out
}

func (r report) recovered() bool { return len(r.Decisions) > 0 }

// decisionsOf tells what a living worker decided about an answer that it had lost;
// an action that went its ordinary way needed none.
func decisionsOf(o intentlog.Outcome) []decision {
	switch {
	case o.Action == "":
		return nil
	case o.Status == intentlog.Reconciled:
		return []decision{{Kind: recovery.Reconcile.String()}}
	case o.Status == intentlog.Held:
		return []decision{{recovery.HoldUnknown.String(), string(o.Reason)}}
	case o.Sends > 1:
		return []decision{{Kind: recovery.Retry.String()}}
	}
	return nil
}

// String tells the report in words.
func (r report) String() string {
	var said []string
	for _, d := range r.Decisions {
		text := d.Kind
		if d.Reason != "" {
			text += " (" + d.Reason + ")"
		}
		said = append(said, text)
	}
	switch {
	case r.Fenced:
		return fmt.Sprintf("finds that the job is another's, after sending %s", times(r.Sends))
	case r.Lost:
		return "its claim lost"
	case len(said) == 0:
		return fmt.Sprintf("ends, after sending %s", times(r.Sends))
	}
	return fmt.Sprintf("%s, after sending %s", strings.Join(said, ", "), times(r.Sends))
}

func times(n int) string {
	switch n {
	case 0:
		return "nothing"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
