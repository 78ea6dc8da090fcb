package journal_test

import (
	"bufio"
	"context"
	"encoding/json"
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

	"pgregory.net/rapid"

	"oneloop/internal/journal"
)

// TestMain is also the writer that is killed, see TestNothingIsLostOrDoubledWhenWritersAreKilled.
func TestMain(m *testing.M) {
	if path := os.Getenv("JOURNAL_TEST_WRITER"); path != "" {
		count(path)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// numbers are lines that count upwards, from whoever.
type numbers struct {
	last int
	all  []int
}

func (n *numbers) Apply(line []byte) {
	var l struct{ N int }
	if json.Unmarshal(line, &l) == nil && l.N > 0 {
		n.last = l.N
		n.all = append(n.all, l.N)
	}
}

func (n *numbers) Reset() { *n = numbers{} }

func line(n int) []byte { return fmt.Appendf(nil, `{"N":%d}`, n) }

// next writes the number behind the last one.
func next(t *testing.T, j *journal.Journal, n *numbers) error {
	return j.Update(t.Context(), func() ([][]byte, error) { return [][]byte{line(n.last + 1)}, nil })
}

func TestWritersTakeTurnsAndReadEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "j.jsonl")
	const writers, each = 8, 50
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			n := new(numbers)
			j := journal.New(path, n)
			defer j.Close()
			for range each {
				if err := next(t, j, n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	n := new(numbers)
	j := journal.New(path, n)
	if err := j.View(func() {}); err != nil {
		t.Fatal(err)
	}
	if len(n.all) != writers*each || n.last != writers*each || !slices.IsSorted(n.all) {
		t.Errorf("%d numbers up to %d: %v", len(n.all), n.last, n.all)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", fi.Mode(), err)
	}
}

func TestOfAFileThatIsNotThereNothingIsSeenAndNothingMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := journal.New(path, new(numbers))
	seen := false
	if err := j.View(func() { seen = true }); err != nil || !seen {
		t.Error(seen, err)
	}
	why := errors.New("no")
	if err := j.Update(t.Context(), func() ([][]byte, error) { return [][]byte{line(1)}, why }); !errors.Is(err, why) {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err == nil && len(got) > 0 {
		t.Errorf("written all the same: %q", got)
	}
	for _, bad := range []string{"{\"N\":\n1}", "{", ""} {
		if err := j.Update(t.Context(), func() ([][]byte, error) { return [][]byte{line(1), []byte(bad)}, nil }); err == nil {
			t.Errorf("%q is no line", bad)
		}
	}
	if got, _ := os.ReadFile(path); len(got) > 0 {
		t.Errorf("the good one beside a bad one was written: %q", got)
	}
}

// TestWhatAKilledWriterLeftIsNoObstacle ends a file at each of its bytes.
func TestWhatAKilledWriterLeftIsNoObstacle(t *testing.T) {
	whole := slices.Concat(line(1), []byte("\n"), line(2), []byte("\n"), line(3), []byte("\n"))
	path := filepath.Join(t.TempDir(), "j")
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		n := new(numbers)
		j := journal.New(path, n)
		if err := next(t, j, n); err != nil {
			t.Fatal(err)
		}
		// A line that lacks its end alone was written whole: it counts, before
		// it is decided what comes next.
		want := []int{1, 2, 3, 4}
		switch {
		case cut < len(line(1)):
			want = want[:1]
		case cut < 2*len(line(1))+1:
			want = want[:2]
		case cut < 3*len(line(1))+2:
			want = want[:3]
		}
		again := new(numbers)
		k := journal.New(path, again)
		if err := k.View(func() {}); err != nil || !slices.Equal(again.all, want) || !slices.Equal(n.all, want) {
			t.Fatalf("cut at %d: %v and %v, not %v (%v)", cut, n.all, again.all, want, err)
		}
		j.Close()
		k.Close()
	}
}

// TestAllSeeTheSame has several journals on one file do anything in any order.
func TestAllSeeTheSame(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp("", "journal")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "j")
		var js []*journal.Journal
		var ns []*numbers
		for range 3 {
			n := new(numbers)
			j := journal.New(path, n)
			defer j.Close()
			js, ns = append(js, j), append(ns, n)
		}
		var want []int
		r.Repeat(map[string]func(*rapid.T){
			"write": func(r *rapid.T) {
				i := rapid.IntRange(0, 2).Draw(r, "who")
				k := rapid.IntRange(1, 3).Draw(r, "lines")
				err := js[i].Update(r.Context(), func() (lines [][]byte, err error) {
					for d := range k {
						lines = append(lines, line(ns[i].last+1+d))
						want = append(want, ns[i].last+1+d)
					}
					return lines, nil
				})
				if err != nil {
					r.Fatal(err)
				}
			},
			"view": func(r *rapid.T) {
				i := rapid.IntRange(0, 2).Draw(r, "who")
				if err := js[i].View(func() {}); err != nil || !slices.Equal(ns[i].all, want) {
					r.Fatalf("%v, not %v (%v)", ns[i].all, want, err)
				}
			},
			"rewrite": func(r *rapid.T) {
				i := rapid.IntRange(0, 2).Draw(r, "who")
				drop := rapid.IntRange(0, len(want)).Draw(r, "drop")
				err := js[i].Rewrite(r.Context(), func() ([][]byte, error) {
					lines := [][]byte{}
					want = slices.Clone(want[drop:])
					for _, n := range want {
						lines = append(lines, line(n))
					}
					return lines, nil
				})
				if err != nil {
					r.Fatal(err)
				}
			},
			"torn": func(r *rapid.T) {
				f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					return // there is none yet
				}
				defer f.Close()
				if b, _ := os.ReadFile(path); len(b) > 0 && b[len(b)-1] != '\n' {
					return
				}
				f.WriteString(rapid.SampledFrom([]string{"{", `{"N":`, "\x00\x00"}).Draw(r, "what"))
			},
			"remove": func(r *rapid.T) {
				if os.Remove(path) == nil {
					want = nil
				}
			},
			"reopen": func(r *rapid.T) { js[rapid.IntRange(0, 2).Draw(r, "who")].Close() },
		})
	})
}

// TestAFileThatWasCutIsReadAgain has somebody empty the file in its place.
func TestAFileThatWasCutIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	n := new(numbers)
	j := journal.New(path, n)
	defer j.Close()
	for range 3 {
		if err := next(t, j, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := j.View(func() {}); err != nil || len(n.all) > 0 {
		t.Errorf("of an empty file: %v (%v)", n.all, err)
	}
	if err := next(t, j, n); err != nil || !slices.Equal(n.all, []int{1}) {
		t.Errorf("after that: %v (%v)", n.all, err)
	}
}

func TestLinesLongerThanTheBuffer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := journal.New(path, new(numbers))
	long := []byte(`{"N":1,"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range 3 {
		if err := j.Update(t.Context(), func() ([][]byte, error) { return [][]byte{long, line(2)}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	n := new(numbers)
	if err := journal.New(path, n).View(func() {}); err != nil || len(n.all) != 6 {
		t.Errorf("%d of 6 lines (%v)", len(n.all), err)
	}
}

// count writes numbers until it is killed, and says which.
func count(path string) {
	n := new(numbers)
	j := journal.New(path, n)
	for {
		mine := 0
		err := j.Update(context.Background(), func() ([][]byte, error) {
			mine = n.last + 1
			return [][]byte{line(mine)}, nil
		})
		if err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println(mine)
	}
}

// TestNothingIsLostOrDoubledWhenWritersAreKilled kills processes in the middle of
// writing.
func TestNothingIsLostOrDoubledWhenWritersAreKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	rounds := 6
	if os.Getenv("ONELOOP_SOAK") != "" {
		rounds = 60
	}
	said := map[int]int{}
	for range rounds {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range 3 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "JOURNAL_TEST_WRITER="+path)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			after := 1 + random.IntN(20)
			wg.Go(func() {
				in := bufio.NewScanner(out)
				for i := 0; in.Scan(); i++ {
					if n, err := strconv.Atoi(in.Text()); err == nil {
						mu.Lock()
						said[n]++
						mu.Unlock()
					} else {
						t.Error(in.Text())
					}
					if i == after {
						cmd.Process.Kill()
					}
				}
				cmd.Wait()
			})
		}
		wg.Wait()
	}
	n := new(numbers)
	if err := journal.New(path, n).View(func() {}); err != nil {
		t.Fatal(err)
	}
	for i, v := range n.all {
		if v != i+1 {
			t.Fatalf("seed %d: number %d is at place %d", seed, v, i+1)
		}
	}
	for v, times := range said {
		if times != 1 || v > n.last {
			t.Errorf("seed %d: %d was told %d times as written, the file ends with %d", seed, v, times, n.last)
		}
	}
	t.Logf("seed %d: %d lines", seed, n.last)
}
