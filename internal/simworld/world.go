package simworld

import (
	"fmt"
	"slices"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/internal/invariant"
	"github.com/intentlog/intentlog/store/memstore"
)

// World is a log, a network and a service. Set the fields before the first life.
type World struct {
	Terms Terms
	// Choose says what happens to a life at a point. Nil: it goes on.
	Choose func(*Life, Point) Verdict
	// Story collects lines that a person can read; it costs time.
	Story bool

	// Forgets and StaleBounds make the log lie: it acknowledges such appends and
	// stores nothing, or its bounds are too low by so many records.
	Forgets     func([]intent.Event) bool
	StaleBounds int

	Recorder *invariant.Recorder // what happened, for the checks
	Honest   *memstore.Store     // the log as it is

	service *service
	flights []*message
	lives   []*Life
	lines   []string
}

// New returns an empty world.
func New(terms Terms, buckets int) *World {
	w := &World{Terms: terms, Recorder: invariant.NewRecorder(), Honest: memstore.New(buckets)}
	w.service = &service{
		w: w, known: map[intent.ActionID]*effect{}, working: map[intent.ActionID]int{}, fences: map[intent.ActionID]int32{},
	}
	return w
}

// message is on the wire, and nobody waits for it.
type message struct {
	what string
	call bool // to the service; else to the log
	land func()
	gone func() // it is no longer with the service; nil if it never arrived there
	slot Slot
}

// launch leaves a message to the network.
func (w *World) launch(m *message, slot Slot) {
	m.slot = slot
	if slot == AtOnce || slot == Never {
		w.arrive(m)
		return
	}
	w.flights = append(w.flights, m)
}

func (w *World) arrive(m *message) {
	if m.gone != nil {
		m.gone()
	}
	if m.slot == Never {
		w.tell("the %s is lost", m.what)
		return
	}
	w.tell("the %s lands", m.what)
	m.land()
}

// landing lets those messages arrive whose moment has come.
func (w *World) landing(slot Slot, call bool) {
	due := w.flights[:0:0]
	w.flights = slices.DeleteFunc(w.flights, func(m *message) bool {
		if m.slot == slot && m.call == call {
			due = append(due, m)
			return true
		}
		return false
	})
	for _, m := range due {
		w.arrive(m)
	}
}

// Flush lets everything arrive that is still on the wire.
func (w *World) Flush() {
	flights := w.flights
	w.flights = nil
	for _, m := range flights {
		w.arrive(m)
	}
}

// Pass lets time pass. No network holds a request for longer than a service keeps
// its key: what is still on the wire then is lost.
func (w *World) Pass(d time.Duration) {
	if d == 0 {
		return
	}
	if keep := w.Terms.Retention; keep > 0 {
		for _, m := range w.flights {
			if m.call {
				m.slot = Never
			}
		}
	}
	w.tell("%v pass", d)
	time.Sleep(d)
}

// tell adds a line to the story.
func (w *World) tell(format string, args ...any) {
	if w.Story {
		w.lines = append(w.lines, fmt.Sprintf("%3d. ", len(w.lines)+1)+fmt.Sprintf(format, args...))
	}
}

// Lines returns the story so far.
func (w *World) Lines() []string { return w.lines }

// Bury ends every life that has not ended, and lets its goroutines go.
func (w *World) Bury() {
	for _, l := range w.lives {
		if l.State != Ended {
			l.dead = true
			l.cancel() // first: who wakes up must see it
			close(l.gate)
		}
	}
}
