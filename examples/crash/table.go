package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// printTable prints the cases, one a line.
func printTable(out io.Writer, results []Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nCASE\tKILLED\tLOG\tEFFECTS\tCOMPUTED\tSENDS\tDECISION\tVERDICT")
	right := 0
	for _, r := range results {
		verdict := "WRONG"
		if r.OK {
			verdict = "ok"
			right++
		}
		said := r.Decision
		if r.Reason != "" {
			said += " (" + r.Reason + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d -> %d\t%d\t%d\t%s\t%s\n",
			r.Case, r.killed, r.Log, r.Before, r.Effects, r.Computations, r.Sends, said, verdict)
	}
	fmt.Fprintf(w, "\nEFFECTS: in the service's own ledger, when the worker was dead or its answer lost, and in the end.\n")
	fmt.Fprintf(w, "%d of %d cases are right: the log and the ledger agree.\n", right, len(results))
	return w.Flush()
}
