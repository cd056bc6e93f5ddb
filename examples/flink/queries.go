package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/store/projection"
)

// The day of the queries' log: 14 November 2023, 22:13:20 UTC.
const day = int64(1_700_000_000_000)

const otherLife intent.OwnerID = "b3b0c7d2-51f5-4c1c-8a39-6a0c1c8f2e02"

// operations is a log in which there is something for each query to find.
func operations() (events []intent.Event) {
	fresh := time.Now().UnixMilli() - 1000
	for _, w := range []*writer{
		request("pay-1", day).confirm(),
		request("pay-2", day+60_000).confirm(),
		request("pay-3", day+3_600_000).confirm(),
		request("pay-4", day),                                        // open, and nobody is at work
		request("pay-5", fresh),                                      // open, at work
		request("pay-6", day).hold("transport"),                      // held
		request("pay-7", day).hold("transport").next(otherLife),      // held, and now claimed
		request("pay-8", day).hold("auth").hold("retention"),         // the last reason counts
		request("pay-9", day).hold("auth").next(otherLife).confirm(), // the hold is over
	} {
		events = append(events, w.events...)
	}
	// Two repetitions, the last records of the log.
	return append(events, events[1], events[len(events)-1])
}

// wanted are the rows of each query over operations, as text. Open intents have an age
// behind them, of which only the sign is sure.
func wanted(events []intent.Event) map[string][]string {
	id := func(job intent.JobID) intent.EventID {
		at := slices.IndexFunc(events, func(e intent.Event) bool { return e.JobID == job && e.Type == intent.ActionRequested })
		return events[at].EventID
	}
	last := len(events) - 2 // the records before the repetitions
	return map[string][]string{
		"open_intents.sql": {
			"pay-4 pay-4/1 1", "pay-5 pay-5/1 1", "pay-6 pay-6/1 1", "pay-7 pay-7/1 1", "pay-8 pay-8/1 1",
		},
		"held_intents.sql": {"retention 1", "transport 2"},
		"stuck_jobs.sql": {
			fmt.Sprint("pay-4 1 ", day+1000), fmt.Sprint("pay-6 1 ", day+2000), fmt.Sprint("pay-7 2 ", day+3000), fmt.Sprint("pay-8 1 ", day+3000),
		},
		"duplicates.sql": {
			fmt.Sprintf("%s 2 1 %d", id("pay-1"), last),
			fmt.Sprintf("%s 2 %d %d", events[last-1].EventID, last-1, last+1),
		},
		"effects_per_hour.sql": {"2023-11-14 22:00 3", "2023-11-14 23:00 1"},
	}
}

// queryNames are the files in the order of the table.
var queryNames = []string{"open_intents.sql", "held_intents.sql", "stuck_jobs.sql", "duplicates.sql", "effects_per_hour.sql"}

func queryCases(l *lab) (cases []testCase) {
	// The first to come writes the log that all of them ask.
	want := sync.OnceValues(func() (map[string][]string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), caseTimeout)
		defer cancel()
		st, sink, err := l.create(ctx, queriesDB)
		if err != nil {
			return nil, err
		}
		events := operations()
		if _, err := st.Append(ctx, 0, events); err != nil {
			return nil, err
		}
		_, err = projection.New(st, sink).Import(ctx)
		return wanted(events), err
	})
	for _, name := range queryNames {
		cases = append(cases, testCase{name, func(ctx context.Context) (o outcome, err error) {
			rows, err := want()
			if err != nil {
				return o, err
			}
			return l.ask(ctx, name, rows[name])
		}})
	}
	return cases
}

// ask runs a query as it stands, as a stream, until its rows are the wanted ones. A stream
// might only pass through them; so where it can be done, a batch job says the same.
func (l *lab) ask(ctx context.Context, name string, want []string) (o outcome, err error) {
	statement, err := query(name)
	if err != nil {
		return o, err
	}
	s, err := l.openSession(ctx)
	if err != nil {
		return o, err
	}
	if _, err := s.Run(ctx, "USE "+queriesDB+"; SET 'execution.runtime-mode' = 'streaming';"); err != nil {
		return o, err
	}
	if strings.Contains(statement, "AS age_s") {
		statement = strings.Replace("SELECT job_id, action_id, attempt FROM (...) WHERE age_s > 0", "...", statement, 1)
	}
	if err := converge(ctx, s, statement, want); err != nil {
		return o, fmt.Errorf("%s: %w", name, err)
	}
	o = outcome{int64(len(want)), strings.Join(want, ", ")}
	bounded := limited(statement)
	if bounded == statement {
		return o, nil // of the log, which has no batch
	}
	if _, err := s.Run(ctx, "SET 'execution.runtime-mode' = 'batch';"); err != nil {
		return o, err
	}
	r, err := s.Exec(ctx, bounded)
	if err != nil {
		return o, fmt.Errorf("%s as a batch: %w", name, err)
	}
	var got []string
	for _, fields := range r.Fields() {
		got = append(got, words(fields))
	}
	slices.Sort(got)
	return o, unequal(name+" as a batch", got, want)
}
