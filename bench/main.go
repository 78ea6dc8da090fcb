// Command bench measures oneloop against bench/floor, the smallest program
// that does the same, and prints each figure with its limit. Both run on this
// machine, by turns, against a scripted API on the loopback interface, so that
// what the machine does beside them hits both alike: the ratios mean
// something, the times alone do not. The tools on files, the searches and the
// sandbox are held, likewise by turns, against programs that do only that. Its
// figures decide no test.
//
// It exits with 1 when something went wrong, and with -strict also when a
// figure is over its limit or this machine lacks what it is held against.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"oneloop/workspace"
)

func main() {
	workspace.Helper()
	if len(os.Args) > 1 && os.Args[1] == crewWord {
		os.Exit(crewMain(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == mailWord {
		os.Exit(mailMain(os.Args[2:]))
	}
	var o options
	short := flag.Bool("short", false, "fewer runs, and a tenth of the long output")
	strict := flag.Bool("strict", false, "exit with 1 when a figure is over its limit")
	flag.StringVar(&o.Program, "program", "", "measure this `file` instead of building ./cmd/oneloop")
	flag.StringVar(&o.Only, "only", "", "measure only this `part`: "+strings.Join(names(), ", "))
	flag.Parse()
	if flag.NArg() > 0 || !known(o.Only) {
		flag.Usage()
		os.Exit(2)
	}
	o.size = full
	if *short {
		o.size = small
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	debug.SetGCPercent(-1) // collected between the runs
	debug.SetMemoryLimit(1 << 30)

	figures, missing, err := measure(ctx, o)
	over := show(os.Stdout, figures)
	for _, m := range missing {
		fmt.Println("NOT MEASURED:", m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if over+len(missing) > 0 && *strict {
		os.Exit(1)
	}
}

// A figure is one line of the table: what was measured against what it may be
// at most.
type figure struct {
	Name    string
	Ours    string
	Against string  // empty: a plain limit
	Value   float64 // to be compared with Limit; both in Unit
	Limit   float64
	Unit    string // "×" for a ratio
}

func (f figure) over() bool { return f.Value > f.Limit }

// show prints the table and returns how many figures are over their limit.
func show(w io.Writer, figures []figure) (over int) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "figure\toneloop\tagainst\tvalue\tlimit\t")
	for _, f := range figures {
		verdict := "ok"
		if f.over() {
			verdict = "OVER"
			over++
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s %s\t%g %s\t%s\n", f.Name, f.Ours, f.Against, number(f.Value), f.Unit, f.Limit, f.Unit, verdict)
	}
	t.Flush()
	fmt.Fprintf(w, "\n%s/%s, %d processors; %d of %d figures over the limit\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), over, len(figures))
	return over
}
