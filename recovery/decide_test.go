package recovery

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/intent"
	"github.com/intentlog/intentlog/receipt"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file, or rewrites the file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "go test ./recovery -update rewrites it")
}

// column is one part of the evidence and all its values.
type column struct {
	name   string
	values []string
	set    func(e *evidence, value int)
}

// columns span every evidence there is. Of the reasons that a lookup may give only
// two are told apart; "other" stands for the rest, and the decision repeats it.
func columns() []column {
	const other = receipt.Reason("other")
	type answer struct {
		kind   receipt.Kind
		reason receipt.Reason
	}
	answers := []answer{
		{receipt.Committed, ""},
		{receipt.Absent, ""},
		{receipt.InFlight, ""},
		{receipt.Unknown, receipt.ReasonNoLookup},
		{receipt.Unknown, other},
		{receipt.Kind(9), other},
	}
	var status, finding, safety []string
	for s := intent.Unrequested; s <= intent.Rejected; s++ {
		status = append(status, s.String())
	}
	for _, a := range answers {
		text := a.kind.String()
		if a.reason != "" {
			text += ":" + string(a.reason)
		}
		finding = append(finding, strings.ReplaceAll(text, " ", "_"))
	}
	for s := receipt.None; s <= receipt.NotAfter+1; s++ {
		safety = append(safety, s.String())
	}
	no, yes := []string{"no", "yes"}, 1
	return []column{
		{"log", status, func(e *evidence, v int) { e.status = intent.Status(v) }},
		{"single", no, func(e *evidence, v int) { e.single = v == yes }},
		{"lookup", finding, func(e *evidence, v int) { e.find, e.reason = answers[v].kind, answers[v].reason }},
		{"operator", no, func(e *evidence, v int) { e.forced = v == yes }},
		{"clash", no, func(e *evidence, v int) { e.clash = v == yes }},
		{"contract", safety, func(e *evidence, v int) { e.safety = receipt.Safety(v) }},
		{"proved", no, func(e *evidence, v int) { e.proved = v == yes }},
	}
}

// rows lists the decisions for every value of the columns, with "*" where a column
// makes no difference and values side by side that decide alike.
func rows(e evidence, cols []column) (all []string) {
	if len(cols) == 0 {
		kind, reason := decide(e)
		return []string{strings.TrimRight(kind.String()+"\t"+string(reason), "\t")}
	}
	c := cols[0]
	type group struct {
		values []string
		below  []string
	}
	var groups []group
	for v, name := range c.values {
		c.set(&e, v)
		below := rows(e, cols[1:])
		i := slices.IndexFunc(groups, func(g group) bool { return slices.Equal(g.below, below) })
		if i < 0 {
			groups, i = append(groups, group{below: below}), len(groups)
		}
		groups[i].values = append(groups[i].values, name)
	}
	for _, g := range groups {
		value := strings.Join(g.values, ",")
		if len(groups) == 1 {
			value = "*"
		}
		for _, row := range g.below {
			all = append(all, value+"\t"+row)
		}
	}
	return all
}

func aligned(header string, rows []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for _, r := range rows {
		fmt.Fprintln(w, r)
	}
	w.Flush()
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func TestDecideIsTheWholeTable(t *testing.T) {
	cols := columns()
	var names []string
	for _, c := range cols {
		names = append(names, c.name)
	}
	golden(t, "testdata/decide.golden", aligned(strings.Join(names, "\t")+"\tdecision\treason", rows(evidence{}, cols)))
}

// each calls fn for every evidence.
func each(e evidence, cols []column, fn func(evidence)) {
	if len(cols) == 0 {
		fn(e)
		return
	}
	for v := range cols[0].values {
		cols[0].set(&e, v)
		each(e, cols[1:], fn)
	}
}

func TestNoDoubtIsEverARetry(t *testing.T) {
	n := 0
	each(evidence{}, columns(), func(e evidence) {
		n++
		kind, reason := decide(e)
		require.Equal(t, kind == HoldUnknown, reason != "", "a hold, and nothing else, has a reason: %+v", e)
		open := e.status == intent.Requested || e.status == intent.Held
		switch kind {
		case Retry:
			require.True(t, open)
			require.NotEqual(t, receipt.Committed, e.find)
			require.NotEqual(t, receipt.InFlight, e.find)
			if !e.forced {
				require.True(t, e.proved && !e.clash, "%+v", e)
				require.True(t, e.safety != receipt.None && e.safety <= receipt.NotAfter, "%+v", e)
				asked := e.find == receipt.Absent
				require.True(t, asked || e.safety == receipt.KeyBound && e.reason == receipt.ReasonNoLookup, "%+v", e)
			}
		case Reconcile:
			require.True(t, open && e.find == receipt.Committed)
		case Complete, Resume:
			require.False(t, open)
		}
	})
	require.Equal(t, 5*2*6*2*2*5*2, n)
	kind, _ := decide(evidence{status: intent.Requested})
	require.Equal(t, HoldUnknown, kind, "the zero evidence about an open action")
	require.Equal(t, HoldUnknown, Kind(0))
}

// The short table is what people read first: the rows that matter, decided by the
// same function.
func TestShortTable(t *testing.T) {
	keyBound := func(e evidence) evidence { e.safety, e.proved = receipt.KeyBound, true; return e }
	lines := []string{
		"| the log shows | the service says | decision |",
		"|---|---|---|",
	}
	for _, r := range []struct {
		log, says string
		e         evidence
	}{
		{"no intent", "-", evidence{status: intent.Unrequested}},
		{"intent, no result", "committed, and the receipt fits", evidence{status: intent.Requested, find: receipt.Committed}},
		{"intent, no result", "absent, and the contract makes a second send safe", keyBound(evidence{status: intent.Requested, find: receipt.Absent})},
		{"intent, no result", "absent, and no contract does", evidence{status: intent.Requested, find: receipt.Absent}},
		{"intent, no result", "absent, and the service may have forgotten", evidence{status: intent.Requested, find: receipt.Absent, safety: receipt.KeyBound}},
		{"intent, no result", "in flight, longer than we wait", keyBound(evidence{status: intent.Requested, find: receipt.InFlight})},
		{"intent, no result", "503, a timeout, refused", keyBound(evidence{status: intent.Requested, reason: receipt.ReasonTransport})},
		{"intent, no result", "401, 403", keyBound(evidence{status: intent.Requested, reason: receipt.ReasonAuth})},
		{"intent, no result", "a bare 404, HTML, another contract version", keyBound(evidence{status: intent.Requested, reason: receipt.ReasonContract})},
		{"intent, no result", "committed, with another ID or digest", keyBound(evidence{status: intent.Requested, reason: receipt.ReasonReceipt})},
		{"held", "committed, and the receipt fits", evidence{status: intent.Held, find: receipt.Committed}},
		{"held", "absent, and the contract makes a second send safe", keyBound(evidence{status: intent.Held, find: receipt.Absent})},
		{"confirmed, not completed", "-", evidence{status: intent.Confirmed, single: true}},
	} {
		kind, reason := decide(r.e)
		cell := "**" + kind.String() + "**"
		if reason != "" {
			cell += " (" + string(reason) + ")"
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s |", r.log, r.says, cell))
	}
	golden(t, "testdata/decide.md", strings.Join(lines, "\n")+"\n")
}
