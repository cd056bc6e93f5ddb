package main

import "strings"

// scripted is a model without a network: it does what a model might do.
type scripted struct{ checked bool }

func (m *scripted) next(heard []string) call {
	last := heard[len(heard)-1]
	switch {
	case strings.Contains(last, "is blocked"):
		return call{text: "I wrote to Ann, and cannot tell yet whether my mail went out."}
	case strings.Contains(last, "not known"):
		return call{tool: "send_email", text: "Ann, did you get my mail? The meeting is at ten."}
	case strings.Contains(last, "it was done"):
		return call{text: "Ann was told."}
	case !m.checked:
		m.checked = true
		return call{tool: "calendar", text: "ten o'clock"}
	}
	return call{tool: "send_email", text: "Ann, the meeting is at ten."}
}
