package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// printTable prints the effects that the shop's ledger counted. An exclamation mark
// says that they are not what was wanted.
func printTable(out io.Writer, shown []exhibit, all []contender, results []Result) error {
	fmt.Fprint(out, "effects in the shop's ledger; ! marks those that are wrong\n\n")
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "CASE\tWANTED")
	for _, c := range all {
		fmt.Fprintf(tw, "\t%s", c.name)
	}
	right := make([]int, len(all))
	played := make([]int, len(all))
	for i, r := range results {
		n := i % len(all)
		if n == 0 {
			fmt.Fprintf(tw, "\n%s\t%d", r.Case, r.Wanted)
		}
		cell := "-"
		if r.played {
			played[n]++
			cell = strconv.Itoa(r.Effects)
			if r.OK {
				right[n]++
			} else {
				cell += " !"
			}
		}
		fmt.Fprintf(tw, "\t%s", cell)
	}
	fmt.Fprint(tw, "\nright\t")
	for n := range all {
		fmt.Fprintf(tw, "\t%d of %d", right[n], played[n])
	}
	fmt.Fprintln(tw)
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for i, r := range results {
		if i%len(all) == 0 {
			fmt.Fprintf(out, "%s: %s\n", r.Case, shown[i/len(all)].what)
		}
		if r.Note != "" {
			if _, err := fmt.Fprintf(out, "    %s: %s\n", r.Contender, r.Note); err != nil {
				return err
			}
		}
	}
	return nil
}
