package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

type options struct {
	Program string // empty: build ./cmd/oneloop
	Only    string // a part's name; empty: all
	size    size
}

// size says how much is run.
type size struct {
	Starts  int   // runs of one call and of twenty-five
	Growths int   // runs of 500 calls
	Outputs int   // runs of each command with long output
	Output  int64 // bytes of it

	Files    int // of the tree that is searched
	Searches int // runs of each search
	Edits    int
	Commands int // runs of a command in a sandbox
	Agents   int // in one program
}

var (
	full  = size{Starts: 41, Growths: 5, Outputs: 3, Output: 5_000_000_000, Files: 100_000, Searches: 9, Edits: 41, Commands: 101, Agents: 1000}
	small = size{Starts: 9, Growths: 1, Outputs: 1, Output: 500_000_000, Files: 20_000, Searches: 5, Edits: 9, Commands: 31, Agents: 200}
)

// The limits. Ratios are to the floor unless the name says otherwise.
const (
	limitStart  = 1.5
	limitMemory = 2
	limitBinary = 15 // MB
	limitGap    = 1.3
	limitGrowth = 1.3 // to its own turn 20
	limitSeed   = 500 // bytes
	limitPrompt = 5500
	limitBill   = 5000 // tokens
	limitHeld   = 10   // MB more than when printing nothing
	limitPipe   = 2    // to the command piped into cat
)

// timeout ends a run that hangs.
const timeout = 5 * time.Minute

type bench struct {
	size        size
	ours, floor program
	missing     []string // what could not be measured here, and why
}

// miss notes that something cannot be measured on this machine.
func (b *bench) miss(what string) { b.missing = append(b.missing, what) }

var parts = []struct {
	name string
	run  func(*bench, context.Context) ([]figure, error)
}{
	{"start", (*bench).start},
	{"growth", (*bench).growth},
	{"prompt", (*bench).prompt},
	{"output", (*bench).output},
	{"search", (*bench).search},
	{"edit", (*bench).edit},
	{"sandbox", (*bench).sandbox},
	{"snapshots", (*bench).snapshots},
	{"sessions", (*bench).sessions},
	{"agents", (*bench).agents},
	{"wires", (*bench).wires},
	{"team", (*bench).mail},
	{"team", (*bench).team},
}

func names() (out []string) {
	for _, p := range parts {
		out = append(out, p.name)
	}
	return slices.Compact(out) // some parts have several functions
}

func known(part string) bool { return part == "" || slices.Contains(names(), part) }

// unconfined are the flags of oneloop: the floor has no sandbox either, and
// asks for nothing. What a sandbox adds to a command is a figure of its own.
var unconfined = []string{"--sandbox", "none", "--permission-mode", "bypassPermissions", "-p"}

// measure returns the figures it got, also with an error, and what could not
// be measured on this machine.
func measure(ctx context.Context, o options) (figures []figure, missing []string, err error) {
	dir, err := os.MkdirTemp("", "bench-bin-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	b := &bench{size: o.size}
	if b.floor, err = build(ctx, dir, "floor", "oneloop/bench/floor"); err != nil {
		return nil, nil, err
	}
	if o.Program == "" {
		b.ours, err = shipped(ctx, dir)
	} else {
		b.ours, err = program{Name: "oneloop", Path: o.Program, Args: unconfined}.measured()
	}
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	for _, p := range parts {
		if o.Only != "" && o.Only != p.name {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring: %s\n", p.name)
		f, err := p.run(b, ctx)
		figures = append(figures, f...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return figures, b.missing, errors.Join(errs...)
}

// both plays the script n times with each program, by turns.
func (b *bench) both(ctx context.Context, n int, s script) (ours, floor []run, err error) {
	for range n {
		f, err := limited(ctx, b.floor, s)
		if err != nil {
			return nil, nil, err
		}
		o, err := limited(ctx, b.ours, s)
		if err != nil {
			return nil, nil, err
		}
		ours, floor = append(ours, o), append(floor, f)
	}
	return ours, floor, nil
}

func limited(ctx context.Context, p program, s script) (run, error) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	return p.play(ctx, s)
}

func nothing(turn int) string { return fmt.Sprintf("true %d", turn) }

// start measures what is felt in a short task: the start, the memory, the time
// of a turn.
func (b *bench) start(ctx context.Context) ([]figure, error) {
	figures := []figure{{Name: "binary, stripped", Ours: mb(b.ours.Size), Against: mb(b.floor.Size),
		Value: float64(b.ours.Size) / 1e6, Limit: limitBinary, Unit: "MB"}}
	ours, floor, err := b.both(ctx, b.size.Starts, script{Turns: 1, Command: nothing})
	if err != nil {
		return figures, err
	}
	begun := func(r run) time.Duration { return r.Start }
	figures = append(figures, times("exec to first request", median(ours, begun), median(floor, begun), limitStart))
	figures = append(figures, memory("peak memory, 1 call", ours, floor)...)

	ours, floor, err = b.both(ctx, b.size.Starts, script{Turns: 25, Command: nothing})
	if err != nil {
		return figures, err
	}
	figures = append(figures, times("reply to next request, turn 20", gap(ours, 20), gap(floor, 20), limitGap))
	return append(figures, memory("peak memory, 25 calls", ours, floor)...), nil
}

// growth measures what a long conversation adds to a turn.
func (b *bench) growth(ctx context.Context) ([]figure, error) {
	kilobyte := func(turn int) string { return fmt.Sprintf("printf '%%01023d\\n' %d", turn) }
	ours, floor, err := b.both(ctx, b.size.Growths, script{Turns: 505, Command: kilobyte})
	if err != nil {
		return nil, err
	}
	f := times("reply to next request, turn 500 against 20", gap(ours, 500), gap(ours, 20), limitGrowth)
	f.Name += fmt.Sprintf(" (floor %.2f ×)", float64(gap(floor, 500))/float64(gap(floor, 20)))
	return append([]figure{f}, memory("peak memory, 505 calls of 1 kB", ours, floor)...), nil
}

// prompt measures what the instructions cost: in every request, and with all
// that is sent again over a task.
func (b *bench) prompt(ctx context.Context) ([]figure, error) {
	p := b.ours
	p.Args = append([]string{"--tools", "bash"}, p.Args...)
	r, err := limited(ctx, p, script{Turns: 1, Command: nothing})
	if err != nil {
		return nil, err
	}
	bytes := func(name string, n int, limit float64) figure {
		return figure{Name: name, Ours: fmt.Sprintf("%d bytes", n), Value: float64(n), Limit: limit, Unit: "bytes"}
	}
	figures := []figure{bytes("system prompt and tools of --tools bash", r.Prompt, limitSeed)}

	var paid bill
	twenty := script{Turns: 20, Command: nothing, Seen: paid.add}
	p.Args = []string{"-p"} // in the sandbox, of which the prompt tells
	if r, err = limited(ctx, p, twenty); err != nil {
		b.miss(fmt.Sprintf("the prompt that tells of the sandbox, in its place that of --sandbox none: %v", err))
		paid = bill{}
		if r, err = limited(ctx, b.ours, twenty); err != nil {
			return figures, err
		}
	}
	return append(figures, bytes("system prompt and tools", r.Prompt, limitPrompt),
		figure{Name: "bill of 20 turns", Ours: fmt.Sprintf("%.0f tokens", paid.total), Value: paid.total, Limit: limitBill, Unit: "tokens"}), nil
}

// output measures commands that print more than anyone can keep.
func (b *bench) output(ctx context.Context) (figures []figure, err error) {
	n := b.size.Output
	for _, command := range []string{fmt.Sprintf(`head -c %d /dev/zero | tr '\0' y`, n), fmt.Sprintf(`yes | head -c %d`, n)} {
		var quiet, loud []run
		var piped []time.Duration
		for range b.size.Outputs {
			q, err := limited(ctx, b.ours, script{Turns: 1, Command: nothing})
			if err != nil {
				return figures, err
			}
			d, err := pipe(ctx, command)
			if err != nil {
				return figures, err
			}
			l, err := limited(ctx, b.ours, script{Turns: 1, Command: func(int) string { return command }})
			if err != nil {
				return figures, err
			}
			quiet, loud, piped = append(quiet, q), append(loud, l), append(piped, d)
		}
		name := fmt.Sprintf("%.3g GB from %s: ", float64(n)/1e9, strings.Fields(command)[0])
		took := func(r run) time.Duration { return r.Gaps[0] }
		slices.Sort(piped)
		figures = append(figures, times(name+"time against | cat", median(loud, took), piped[len(piped)/2], limitPipe))
		if runtime.GOOS == "linux" {
			held := func(r run) int64 { return r.Peak }
			l, q := median(loud, held), median(quiet, held)
			figures = append(figures, figure{Name: name + "memory beyond printing nothing", Ours: mb(l), Against: mb(q),
				Value: float64(l-q) / 1e6, Limit: limitHeld, Unit: "MB"})
		}
	}
	return figures, nil
}

// pipe runs the command into cat, with nobody reading along.
func pipe(ctx context.Context, command string) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-c", command+" | cat > /dev/null")
	begin := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("run %s: %w\n%s", cmd, err, out)
	}
	return time.Since(begin), nil
}

func times(name string, ours, against time.Duration, limit float64) figure {
	return figure{Name: name, Ours: ms(ours), Against: ms(against), Value: float64(ours) / float64(against), Limit: limit, Unit: "×"}
}

func memory(name string, ours, floor []run) []figure {
	if runtime.GOOS != "linux" {
		return nil // not known, see peak
	}
	held := func(r run) int64 { return r.Peak }
	o, f := median(ours, held), median(floor, held)
	return []figure{{Name: name, Ours: mb(o), Against: mb(f), Value: float64(o) / float64(f), Limit: limitMemory, Unit: "×"}}
}

// gap is the median of the ten gaps around the turn, over all runs.
func gap(runs []run, turn int) time.Duration {
	var all []time.Duration
	for _, r := range runs {
		all = append(all, r.Gaps[turn-5:turn+5]...)
	}
	return median(all, func(d time.Duration) time.Duration { return d })
}

func median[T any, N int64 | time.Duration](of []T, value func(T) N) N {
	v := make([]N, len(of))
	for i := range of {
		v[i] = value(of[i])
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func mb(n int64) string         { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }

// number has two decimals, or none when it is a count.
func number(v float64) string {
	if v == math.Trunc(v) && v >= 10 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
