package mail_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop"
	"oneloop/team/mail"
)

// TestMain is also the processes that are killed.
func TestMain(m *testing.M) {
	switch os.Getenv("MAIL_TEST_DO") {
	case "send":
		fail(sendOn(os.Getenv("MAIL_TEST_DIR"), os.Getenv("MAIL_TEST_NAME"), os.Getenv("MAIL_TEST_FROM")))
	case "read":
		fail(readOn(os.Getenv("MAIL_TEST_DIR"), os.Getenv("MAIL_TEST_NAME")))
	}
	os.Exit(m.Run())
}

func fail(err error) {
	fmt.Println("error", err)
	os.Exit(1)
}

var boundless = mail.Limits{Waiting: -1, PerMinute: -1, PerHour: -1, Sends: -1}

var chaosReaders = mail.Names{"r0", "r1"}

// sendOn sends numbers, and says before and after each which.
func sendOn(dir, name, from string) error {
	p, err := mail.Open(dir, mail.Options{Roster: chaosReaders, Limits: boundless})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(from)
	if err != nil {
		return err
	}
	for ; ; n++ {
		for _, to := range chaosReaders {
			fmt.Println("trying", to, n)
			if _, err := p.Send(context.Background(), to, mail.Message{From: name, Text: strconv.Itoa(n)}); err != nil {
				return err
			}
			fmt.Println("sent", to, n)
		}
	}
}

// readOn reads into a log: a file to which each message is added whole.
func readOn(dir, name string) error {
	path := filepath.Join(dir, "..", name+".log")
	conversation, err := readLog(path)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	p, err := mail.Open(dir, mail.Options{Roster: chaosReaders, Limits: boundless})
	if err != nil {
		return err
	}
	box, err := p.Mailbox(name, mail.Reader{Seen: mail.Seen(conversation)})
	if err != nil {
		return err
	}
	for {
		if err := box.Wait(context.Background()); err != nil {
			return err
		}
		list, err := box.Take()
		if err != nil {
			return err
		}
		for _, m := range list {
			if _, err := log.WriteString(strconv.Quote(m.Block().Text) + "\n"); err != nil {
				return err
			}
			fmt.Println("read", m.Text)
		}
		if err := box.Ack(context.Background(), list...); err != nil {
			return err
		}
	}
}

func readLog(path string) (conversation []*oneloop.Message, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(data)) {
		text, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err) // one write is never torn by a signal
		}
		conversation = append(conversation, oneloop.UserText(text))
	}
	return conversation, err
}

// TestNoMessageIsLostOrReadTwiceWhenProcessesAreKilled kills senders and readers
// in the middle of what they do.
func TestNoMessageIsLostOrReadTwiceWhenProcessesAreKilled(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "mail")
	seed := uint64(time.Now().UnixNano())
	rounds := 5
	if os.Getenv("ONELOOP_SOAK") != "" {
		rounds = 60
	} else {
		t.Log("5 rounds instead of 60; ONELOOP_SOAK=1 makes all")
	}
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	tried, sent := map[string]int{}, map[string]map[int]bool{} // by sender>reader: the last number, those that were said to be sent
	run := func(ctx context.Context, env []string, after int, line func(text string)) {
		cmd := exec.CommandContext(ctx, os.Args[0]) // killed when it is over
		cmd.Env = append(append(os.Environ(), "MAIL_TEST_DIR="+dir), env...)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Error(err)
			return
		}
		in := bufio.NewScanner(out)
		for i := 0; in.Scan(); i++ {
			if strings.HasPrefix(in.Text(), "error") {
				t.Error(env, in.Text())
			}
			mu.Lock()
			line(in.Text())
			mu.Unlock()
			if i == after {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
	}
	for range rounds {
		var wg, senders sync.WaitGroup
		over, end := context.WithCancel(t.Context())
		for _, name := range []string{"s0", "s1", "s2"} {
			first := 0
			mu.Lock()
			for _, to := range chaosReaders {
				first = max(first, tried[name+">"+to]+1)
			}
			mu.Unlock()
			after := 1 + random.IntN(60)
			senders.Go(func() {
				run(t.Context(), []string{"MAIL_TEST_DO=send", "MAIL_TEST_NAME=" + name, "MAIL_TEST_FROM=" + strconv.Itoa(first)}, after, func(text string) {
					var what, to string
					var n int
					if _, err := fmt.Sscan(text, &what, &to, &n); err != nil {
						return
					}
					key := name + ">" + to
					if tried[key] = n; what == "sent" {
						if sent[key] == nil {
							sent[key] = map[int]bool{}
						}
						sent[key][n] = true
					}
				})
			})
		}
		for _, name := range chaosReaders {
			after := 1 + random.IntN(40)
			wg.Go(func() {
				run(over, []string{"MAIL_TEST_DO=read", "MAIL_TEST_NAME=" + name}, after, func(string) {})
			})
		}
		senders.Wait() // nobody has anything to read any more
		end()
		wg.Wait()
	}
	total := 0
	for _, name := range chaosReaders {
		// The last reader: this process.
		conversation, err := readLog(filepath.Join(base, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		box := read(t, open(t, dir, mail.Options{}), name, mail.Seen(conversation))
		for _, m := range take(t, box) {
			conversation = append(conversation, oneloop.UserText(m.Block().Text))
		}
		got := map[string][]int{}
		for _, entry := range conversation {
			m, ok := mail.Parse(entry.Text())
			n, err := strconv.Atoi(m.Text)
			if !ok || err != nil {
				t.Fatalf("seed %d: %q", seed, entry.Text())
			}
			got[m.From+">"+name] = append(got[m.From+">"+name], n)
			total++
		}
		for _, from := range []string{"s0", "s1", "s2"} {
			key := from + ">" + name
			if !slices.IsSorted(got[key]) || len(slices.Compact(slices.Clone(got[key]))) != len(got[key]) {
				t.Errorf("seed %d: %s: out of order or twice: %v", seed, key, got[key])
			}
			for n := range sent[key] {
				if !slices.Contains(got[key], n) {
					t.Errorf("seed %d: %s: %d was sent and never read", seed, key, n)
				}
			}
			if n := len(got[key]); n > 0 && got[key][n-1] > tried[key] {
				t.Errorf("seed %d: %s: %d was never sent", seed, key, got[key][n-1])
			}
		}
	}
	if total == 0 {
		t.Error("nothing was sent")
	}
	t.Logf("seed %d: %d messages read", seed, total)
}
