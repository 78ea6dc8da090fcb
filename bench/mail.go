package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"oneloop/internal/disk"
	members "oneloop/team/crew" // crew is another thing here
	"oneloop/team/mail"
)

const (
	limitSend      = 2   // to one wait for the disk
	limitSendPlain = 1.5 // to as many bytes that are written and synced, where that is cheap
	limitTold      = 50  // ms
)

// mailReaders is how many agents wait in the process that is told.
const mailReaders = 100

// boundless lets a bench send as fast as it can.
var boundless = mail.Limits{Waiting: -1, PerMinute: -1, PerHour: -1, Sends: -1}

// mail measures what it costs that agents write to each other.
func (b *bench) mail(ctx context.Context) (figures []figure, err error) {
	for _, part := range []func(context.Context) ([]figure, error){b.mailSent, b.mailTold} {
		f, err := part(ctx)
		if figures = append(figures, f...); err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// mailTeam are members of a crew in a folder of their own.
func mailTeam(ctx context.Context, n int) (c *members.Crew, end func() error, err error) {
	dir, err := os.MkdirTemp("", "bench-mail-")
	if err != nil {
		return nil, nil, err
	}
	var ends []func() error
	end = func() error {
		var errs []error
		for _, one := range slices.Backward(ends) {
			errs = append(errs, one())
		}
		return errors.Join(errs...)
	}
	ends = append(ends, func() error { return os.RemoveAll(dir) })
	if c, err = members.Open(dir, members.Options{Mail: boundless, Members: -1}); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	ends = append(ends, c.Close)
	for i := range n {
		seat, err := c.Join(ctx, members.Member{Name: fmt.Sprint("n", i)})
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		ends = append(ends, func() error { return seat.Leave(context.WithoutCancel(ctx)) })
	}
	return c, end, nil
}

// mailSent measures sending a message, and reading it, against one wait for the disk.
func (b *bench) mailSent(ctx context.Context) (figures []figure, err error) {
	c, end, err := mailTeam(ctx, 10)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	box, err := c.Mail().Mailbox("n1", mail.Reader{})
	if err != nil {
		return nil, err
	}
	defer box.Close()
	plain, err := os.Create(filepath.Join(c.Dir(), "plain"))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	text := strings.Repeat("The parser has no test for empty input. ", 10)
	line := make([]byte, len(text)+150)
	var sends, reads, synced []time.Duration
	for i := range max(100, 10*b.size.Starts) {
		steps := []func() error{
			func() error {
				_, err := c.Mail().Send(ctx, "n1", mail.Message{From: "n0", Text: text})
				return err
			},
			func() error {
				if _, err := plain.Write(line); err != nil {
					return err
				}
				return disk.Sync(plain)
			},
			func() error {
				list, err := box.Take()
				if err != nil || len(list) == 0 {
					return errors.Join(errors.New("there was nothing to take"), err)
				}
				return box.Ack(ctx, list...)
			},
		}
		into := []*[]time.Duration{&sends, &synced, &reads}
		if i%2 == 1 { // who comes second finds a disk that is awake
			steps[0], steps[1] = steps[1], steps[0]
			into[0], into[1] = into[1], into[0]
		}
		for k, step := range steps {
			began := time.Now()
			if err := step(); err != nil {
				return nil, err
			}
			*into[k] = append(*into[k], time.Since(began))
		}
	}
	same := func(d time.Duration) time.Duration { return d }
	one := median(synced, same)
	limit, against := float64(limitSend), "one wait for the disk"
	if one < leastSync {
		b.miss(fmt.Sprintf("a message against one wait for the disk: this disk syncs in %s, too little to count by", ms(one)))
		limit, against = limitSendPlain, "writing and syncing as much"
	}
	return []figure{
		times("sending a message to one of a team of 10, against "+against, median(sends, same), one, limit),
		times("reading and acknowledging it, against "+against, median(reads, same), one, limit),
	}, nil
}

// mailWord as the first argument makes this program one whose agents wait for mail.
const mailWord = "mail"

// mailMain is main of such a program: a team of mailReaders that write down when they
// were told, until standard input ends.
func mailMain(args []string) int {
	if len(args) != 1 {
		return 2
	}
	if err := mailWait(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

func mailWait(dir string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, err := members.Open(dir, members.Options{Mail: boundless, Members: -1})
	if err != nil {
		return err
	}
	defer c.Close()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range mailReaders {
		seat, err := c.Join(ctx, members.Member{Name: fmt.Sprint("r", i)})
		if err != nil {
			return err
		}
		defer seat.Leave(context.Background())
		box, err := seat.Mailbox(ctx, nil)
		if err != nil {
			return err
		}
		defer box.Close()
		wg.Go(func() {
			for box.Wait(ctx) == nil {
				told := time.Now()
				list, err := box.Take()
				if err == nil {
					err = box.Ack(ctx, list...)
				}
				mu.Lock()
				fmt.Println(told.UnixNano(), len(list), err)
				mu.Unlock()
			}
		})
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	stop()
	wg.Wait()
	return nil
}

// mailTold measures how soon an idle agent of another process knows of a message.
func (b *bench) mailTold(ctx context.Context) (figures []figure, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	c, end, err := mailTeam(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	cmd := exec.CommandContext(ctx, self, mailWord, c.Dir())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		return nil, fmt.Errorf("the team that waits is not ready: %q", lines.Text())
	}
	var took []time.Duration
	for i := range max(200, 20*b.size.Starts) {
		time.Sleep(3 * time.Millisecond) // so that it is idle again
		began := time.Now()
		if _, err := c.Mail().Send(ctx, fmt.Sprint("r", i*7%mailReaders), mail.Message{From: "n0", Text: "there is news"}); err != nil {
			return nil, err
		}
		if !lines.Scan() {
			return nil, errors.New("who waited was not told")
		}
		at, _, _ := strings.Cut(lines.Text(), " ")
		told, err := strconv.ParseInt(at, 10, 64)
		if err != nil || !strings.HasSuffix(lines.Text(), " 1 <nil>") {
			return nil, fmt.Errorf("who waited says %q", lines.Text())
		}
		took = append(took, time.Unix(0, told).Sub(began))
	}
	slices.Sort(took)
	figures = []figure{}
	for _, f := range []struct {
		name string
		took time.Duration
	}{{"median", took[len(took)/2]}, {"99 of 100", took[len(took)*99/100]}} {
		figures = append(figures, figure{Name: fmt.Sprintf("from sending a message until its reader, one of %d that wait in another process, knows (%s)", mailReaders, f.name),
			Ours: ms(f.took), Value: float64(f.took) / 1e6, Limit: limitTold, Unit: "ms"})
	}
	return figures, nil
}
