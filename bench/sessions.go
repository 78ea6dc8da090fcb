package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"oneloop"
	"oneloop/session"
)

const (
	limitLooked = 1.1 // to the same without a log
	limitSynced = 1.2 // to one wait for the disk
	limitOpen   = 3   // to decoding the lines once
	limitFork   = 1.5 // to one of a tenth of the length
	limitHolds  = 2.5 // to the bytes of the request
	leastSync   = 200 * time.Microsecond
)

// sessions measures what it costs that conversations are kept, and how long ones
// are.
func (b *bench) sessions(ctx context.Context) (figures []figure, err error) {
	for _, part := range []func(context.Context) ([]figure, error){b.kept, b.thousand, b.holds, b.long} {
		f, err := part(ctx)
		if figures = append(figures, f...); err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// kept measures a turn with its log against the same without one.
func (b *bench) kept(ctx context.Context) ([]figure, error) {
	looking := script{Turns: 25, Command: nothing}
	apart := looking
	apart.Env = []string{"XDG_STATE_HOME=" + filepath.Join(os.DevNull, "none")}
	var with, without []run
	for range max(5, b.size.Starts/2) {
		for _, one := range []struct {
			script script
			runs   *[]run
		}{{apart, &without}, {looking, &with}} {
			r, err := limited(ctx, b.ours, one.script)
			if err != nil {
				return nil, err
			}
			*one.runs = append(*one.runs, r)
		}
	}
	figures := []figure{times("reply to next request, command that only looks, with the log against without", gap(with, 20), gap(without, 20), limitLooked)}
	counts, err := b.counted(ctx)
	if figures = append(figures, counts...); err != nil {
		return figures, err
	}
	synced, err := b.synced(ctx)
	return append(figures, synced...), err
}

// counted counts how often a turn waits for the disk.
func (b *bench) counted(ctx context.Context) (figures []figure, err error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		b.miss("how often a turn waits for the disk: there is no strace")
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "bench-strace-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	list := filepath.Join(dir, "calls")
	p := b.ours
	p.Path, p.Args = strace, append([]string{"-f", "-e", "trace=fsync,fdatasync", "-o", list, b.ours.Path}, b.ours.Args...)
	for _, one := range []struct {
		name    string
		command func(int) string
		limit   float64
	}{
		{"only looks", nothing, 0},
		{"writes", func(turn int) string { return fmt.Sprintf("echo %d >> out", turn) }, limitSynced},
	} {
		const turns = 25
		if _, err := limited(ctx, p, script{Turns: turns, Command: one.command}); err != nil {
			b.miss(fmt.Sprintf("how often a turn waits for the disk: %v", err))
			return figures, nil
		}
		text, err := os.ReadFile(list)
		if err != nil {
			return figures, err
		}
		n := bytes.Count(text, []byte("sync("))
		figures = append(figures, figure{Name: "waits for the disk (fdatasync, fsync) in a turn whose command " + one.name, Ours: fmt.Sprintf("%d in %d", n, turns),
			Value: float64(n) / turns, Limit: one.limit})
	}
	return figures, nil
}

// synced measures what the log adds to a call that may write something, in what
// it takes to write and sync as much.
func (b *bench) synced(ctx context.Context) ([]figure, error) {
	dir, err := os.MkdirTemp("", "bench-sync-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l := session.NewLog(filepath.Join(dir, "log.jsonl"), session.LogOptions{})
	defer l.Close()
	plain, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	var with, without, lines []time.Duration
	for range max(10, b.size.Starts) { // by turns: a disk is not the same for long
		one, err := calls(ctx, new(oneloop.History), nil)
		if err == nil {
			without = append(without, one...)
			one, err = calls(ctx, l, l.Intend)
		}
		if err == nil {
			with = append(with, one...)
			one, err = written(plain)
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, one...)
	}
	same := func(d time.Duration) time.Duration { return d }
	more, one := median(with, same)-median(without, same), median(lines, same)
	if one < leastSync {
		b.miss(fmt.Sprintf("what a call that may write waits for the log: this disk syncs in %s, too little to count by", ms(one)))
		return nil, nil
	}
	return []figure{{Name: "what the log adds to a call that may write, against writing and syncing as much", Ours: ms(more), Against: ms(one),
		Value: float64(more) / float64(one), Limit: limitSynced, Unit: "×"}}, nil
}

// A call of what is measured takes callTime, so that the disk comes to rest.
const (
	callTime  = 3 * time.Millisecond
	callTimes = 20
)

// calls times what a turn takes between its replies beside the call.
func calls(ctx context.Context, kept oneloop.Transcript, intend func(oneloop.Tool) oneloop.Tool) (took []time.Duration, err error) {
	var at time.Time
	n := 0
	m := oneloop.ModelFunc(func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
		if n > 0 {
			took = append(took, time.Since(at)-callTime)
		}
		reply := oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: "done"})
		if reply.Stop = oneloop.StopEndTurn; n < callTimes {
			reply = oneloop.NewMessage(oneloop.Assistant, &oneloop.ToolUse{ID: fmt.Sprint("toolu_", time.Now().UnixNano()), Name: "T", Input: json.RawMessage(`{"command":"true"}`)})
			reply.Stop = oneloop.StopToolUse
		}
		n++
		at = time.Now()
		return reply, nil
	})
	t := oneloop.Tool{ToolDef: oneloop.ToolDef{Name: "T"}, Run: func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		time.Sleep(callTime)
		return oneloop.TextResult(fmt.Sprint("result ", n)), nil
	}}
	if intend != nil {
		t = intend(t)
	}
	s := &session.Session{Model: m, Tools: &oneloop.Toolbox{Tools: []oneloop.Tool{t}}, Transcript: kept, Repeats: session.Repeats{Tell: -1, End: -1}}
	return took, s.Turn(ctx, nil, &oneloop.Text{Text: "go"})
}

// written times what the lines of a call take that are only written and synced.
func written(f *os.File) (took []time.Duration, err error) {
	for range callTimes {
		began := time.Now()
		for _, size := range []int{230, 90} { // the reply and the intent
			if _, err := f.WriteString(strings.Repeat("x", size) + "\n"); err != nil {
				return nil, err
			}
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		time.Sleep(callTime)
		if _, err := f.WriteString(strings.Repeat("x", 200) + "\n"); err != nil { // the result
			return nil, err
		}
		took = append(took, time.Since(began)-callTime)
	}
	return took, nil
}

// thousand measures what a thousand calls add to a turn.
func (b *bench) thousand(ctx context.Context) ([]figure, error) {
	var runs []run
	for range max(1, b.size.Growths/2) {
		r, err := limited(ctx, b.ours, script{Turns: 1005, Command: nothing})
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return []figure{times("reply to next request, turn 1000 against 20", gap(runs, 1000), gap(runs, 20), limitGrowth)}, nil
}

// holds measures how much memory a long conversation takes.
func (b *bench) holds(ctx context.Context) ([]figure, error) {
	if runtime.GOOS != "linux" {
		return nil, nil // not known, see peak
	}
	var few, many []run
	for range max(1, b.size.Growths/2) {
		for _, turns := range []int{5, 505} {
			r, err := limited(ctx, b.ours, script{Turns: turns, Env: []string{roomy},
				Command: func(turn int) string { return fmt.Sprintf("printf '%%016000d' %d", turn) }})
			if err != nil {
				return nil, err
			}
			if turns == 5 {
				few = append(few, r)
			} else {
				many = append(many, r)
			}
		}
	}
	taken, err := b.resumed(ctx, 1300)
	if err != nil {
		return nil, err
	}
	short, err := b.resumed(ctx, 10)
	if err != nil {
		return nil, err
	}
	return []figure{
		takes("memory that 500 calls of 16 kB take, against the bytes of the request", many, few),
		takes("the same, a session of 25 MB that is gone on with", []run{taken}, []run{short}),
	}, nil
}

// takes is how much more memory long conversations take than short ones,
// against how much more they send.
func takes(name string, many, few []run) figure {
	held, sent := func(r run) int64 { return r.Peak }, func(r run) int64 { return int64(r.Wire) }
	more, bytes := median(many, held)-median(few, held), median(many, sent)-median(few, sent)
	return figure{Name: name, Ours: mb(more), Against: mb(bytes), Value: float64(more) / float64(bytes), Limit: limitHolds, Unit: "×"}
}

// resumed goes on with a conversation of so many turns.
func (b *bench) resumed(ctx context.Context, turns int) (run, error) {
	p := b.ours
	p.Args = append([]string{"-c"}, p.Args...)
	return limited(ctx, p, script{Before: turns, Env: []string{roomy}, Work: func(dir string) error {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		store := session.Store{Dir: filepath.Join(filepath.Dir(dir), "home", ".local", "state", "oneloop", "sessions")}
		return talked(ctx, store.New(session.LogOptions{Head: session.Head{Dir: real}}), turns)
	}})
}

// roomy is the setting with which no conversation is made shorter.
const roomy = "ONELOOP_CONTEXT_WINDOW=100000000"

// long measures opening and forking a session of 10,000 messages.
func (b *bench) long(ctx context.Context) ([]figure, error) {
	dir, err := os.MkdirTemp("", "bench-session-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path, tenth := filepath.Join(dir, "long.jsonl"), filepath.Join(dir, "tenth.jsonl")
	written := func(path string, turns int) error {
		return talked(ctx, session.NewLog(path, session.LogOptions{}), turns)
	}
	if err := errors.Join(written(path, 2500), written(tenth, 250)); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	open := func() error {
		l, _, err := session.OpenLog(path, session.LogOptions{})
		if err != nil {
			return err
		}
		return l.Close()
	}
	opened, decoded, err := race(b.size.Searches, open, func() error { return decodeLines(path) })
	if err != nil {
		return nil, err
	}
	fork := func(path string) func() error {
		return func() error {
			made, err := session.Fork(path, 0, session.LogOptions{})
			if err != nil {
				return err
			}
			return os.Remove(made)
		}
	}
	forked, short, err := race(b.size.Commands, fork(path), fork(tenth))
	if err != nil {
		return nil, err
	}
	return []figure{
		times(fmt.Sprintf("open a session of 10,000 messages, %s, against decoding its lines", mb(info.Size())), opened, decoded, limitOpen),
		times("fork it, against forking one of a tenth", forked, short, limitFork),
	}, nil
}

// talked fills a log with a conversation of n turns of four messages, 20 kB in
// all.
func talked(ctx context.Context, l *session.Log, n int) error {
	said := strings.Repeat("A line of output, 中文 \"quoted\" and\tso on.\n", 200)
	for i := range n {
		id := fmt.Sprint("toolu_", i)
		reply := oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: said[:400]}, &oneloop.ToolUse{ID: id, Name: "Bash", Input: json.RawMessage(`{"command":"go test ./..."}`)})
		reply.Stop = oneloop.StopToolUse
		done := oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: said})
		done.Stop = oneloop.StopEndTurn
		if err := l.Append(ctx, oneloop.UserText(said[:300]), reply, oneloop.NewMessage(oneloop.User, &oneloop.ToolResult{ID: id, Content: []oneloop.Block{&oneloop.Text{Text: said}}}), done); err != nil {
			return err
		}
		l.Event(oneloop.TurnEnd{Stop: oneloop.StopEndTurn, Requests: 2})
	}
	return l.Close()
}

func decodeLines(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		var e struct {
			N    int64           `json:"n"`
			At   string          `json:"t"`
			Kind string          `json:"k"`
			Data json.RawMessage `json:"d"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
	}
}
