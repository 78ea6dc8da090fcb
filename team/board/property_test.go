package board_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"oneloop/team/board"
)

// given is a claim that somebody was given, whatever became of it.
type given struct {
	*board.Claim
	by    int // which board
	done  bool
	until time.Time // if nobody renews it
}

// laws are some boards on one file, of as many processes, and what has to hold
// for them.
type laws struct {
	path   string
	clock  *clock
	boards []*board.Board
	claims []*given
	newest map[string]*given // of each task that is in progress
	tokens map[string]int64
	last   int
}

func (l *laws) open(r *rapid.T) *board.Board {
	b, err := board.Open(l.path, board.Options{Now: l.clock.now, Losses: 3})
	if err != nil {
		r.Fatal(err)
	}
	return b
}

// has is the claim that holds on a task.
func (l *laws) has(id string) *given {
	if g := l.newest[id]; g != nil && l.clock.now().Before(g.until) && g.by >= 0 {
		return g
	}
	return nil
}

func (l *laws) got(r *rapid.T, by int, c *board.Claim) {
	if g := l.has(c.Task.ID); g != nil {
		if g.by != by || g.Owner != c.Owner || g.Token != c.Token {
			r.Fatalf("#%s is claimed twice: %s (%d) has it and %s (%d) got it", c.Task.ID, g.Owner, g.Token, c.Owner, c.Token)
		}
		return
	}
	if c.Token != l.tokens[c.Task.ID]+1 {
		r.Fatalf("#%s: token %d follows %d", c.Task.ID, c.Token, l.tokens[c.Task.ID])
	}
	l.tokens[c.Task.ID] = c.Token
	g := &given{Claim: c, by: by, until: l.clock.now().Add(board.DefaultLease)}
	l.newest[c.Task.ID] = g
	l.claims = append(l.claims, g)
}

// ended takes account of what an owner said of his claim.
func (l *laws) ended(r *rapid.T, g *given, again bool, err error) {
	lost := new(board.LostError)
	switch isNewest := l.newest[g.Task.ID] == g; {
	case err == nil && again: // said again
	case err == nil && !isNewest:
		r.Fatalf("the claim on #%s with token %d is over and was good for something", g.Task.ID, g.Token)
	case err != nil && isNewest:
		r.Fatalf("the claim on #%s with token %d is the newest: %v", g.Task.ID, g.Token, err)
	case err != nil && !errors.As(err, &lost):
		r.Fatal(err)
	}
}

// TestTheLawsOfABoard has agents in several processes do anything in any order.
func TestTheLawsOfABoard(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp("", "board")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l := &laws{path: filepath.Join(dir, "tasks.jsonl"), clock: newClock(), newest: map[string]*given{}, tokens: map[string]int64{}}
		for range 3 {
			l.boards = append(l.boards, l.open(r))
		}
		defer func() {
			for _, b := range l.boards {
				b.Close()
			}
		}()
		which := func(r *rapid.T) (int, *board.Board) {
			i := rapid.IntRange(0, len(l.boards)-1).Draw(r, "board")
			return i, l.boards[i]
		}
		id := func(r *rapid.T, name string) string {
			return strconv.Itoa(rapid.IntRange(1, max(1, l.last)).Draw(r, name))
		}
		owner := func(r *rapid.T) string { return rapid.SampledFrom([]string{"s/a", "s/b"}).Draw(r, "owner") }
		say := func(do func(*rapid.T, *given) error, ends bool) func(*rapid.T) {
			return func(r *rapid.T) {
				if len(l.claims) == 0 {
					return
				}
				g := l.claims[rapid.IntRange(0, len(l.claims)-1).Draw(r, "claim")]
				if g.by < 0 {
					return // its process is gone
				}
				again := g.done
				err := do(r, g)
				l.ended(r, g, again, err)
				if err == nil && ends && l.newest[g.Task.ID] == g {
					delete(l.newest, g.Task.ID)
				}
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"create": func(r *rapid.T) {
				_, b := which(r)
				n := board.New{Subject: "x"}
				for range rapid.IntRange(0, min(2, l.last)).Draw(r, "edges") {
					n.BlockedBy = append(n.BlockedBy, id(r, "blocker"))
				}
				made, err := b.Create(r.Context(), n)
				if errors.Is(err, board.ErrNoTask) {
					return
				}
				if err != nil {
					r.Fatal(err)
				}
				if n, _ := strconv.Atoi(made.ID); n != l.last+1 {
					r.Fatalf("#%s comes after %d", made.ID, l.last)
				}
				l.last++
			},
			"link": func(r *rapid.T) {
				_, b := which(r)
				c := board.Change{AddBlockedBy: []string{id(r, "blocker")}, AddBlocks: []string{id(r, "blocked")}}
				if rapid.Bool().Draw(r, "drop") {
					c.DropBlockedBy = []string{id(r, "dropped")}
				}
				b.Change(r.Context(), id(r, "task"), c) // refused or not, the laws hold
			},
			"claim": func(r *rapid.T) {
				i, b := which(r)
				at := id(r, "task")
				c, err := b.Claim(r.Context(), owner(r), at)
				if err == nil {
					l.got(r, i, c)
				} else if held := new(board.HeldError); errors.As(err, &held) && l.has(at) == nil {
					r.Fatalf("nobody has #%s: %v", at, err)
				}
			},
			"next": func(r *rapid.T) {
				i, b := which(r)
				who := owner(r)
				o, err := b.Outlook(who)
				if err != nil {
					r.Fatal(err)
				}
				c, err := b.ClaimNext(r.Context(), who)
				switch {
				case err == nil && o.Prospect == board.Ready && slices.Contains(o.Ready, c.Task.ID):
					l.got(r, i, c)
				case errors.Is(err, board.ErrNothing) && o.Prospect != board.Ready:
				default:
					r.Fatalf("%+v, and then %v", o, err)
				}
			},
			"complete": say(func(r *rapid.T, g *given) error {
				_, err := g.Complete(r.Context(), "r")
				if g.done = g.done || err == nil; g.done && err == nil && l.newest[g.Task.ID] != g {
					if t, e := l.boards[0].Task(g.Task.ID); e != nil || t.Status != board.Completed || t.Token != g.Token {
						r.Fatalf("completed again: %+v %v", t, e)
					}
				}
				return err
			}, true),
			"release": say(func(r *rapid.T, g *given) error { return g.Release(r.Context()) }, true),
			"fail":    say(func(r *rapid.T, g *given) error { return g.Fail(r.Context(), "f") }, true),
			"renew": say(func(r *rapid.T, g *given) error {
				err := g.Renew(r.Context())
				if found, e := l.boards[g.by].Task(g.Task.ID); err == nil && e == nil {
					g.until = found.Until
				}
				return err
			}, false),
			"delete": func(r *rapid.T) {
				_, b := which(r)
				at := id(r, "task")
				if _, err := b.Change(r.Context(), at, board.Change{Status: board.Deleted}); err == nil {
					delete(l.newest, at)
				}
			},
			"again": func(r *rapid.T) { // by a person
				_, b := which(r)
				at := id(r, "task")
				if _, err := b.Change(r.Context(), at, board.Change{Status: board.Pending}); err == nil {
					delete(l.newest, at)
				}
			},
			"time": func(r *rapid.T) {
				l.clock.add(time.Duration(rapid.IntRange(1, 90).Draw(r, "seconds")) * time.Second)
			},
			"crash": func(r *rapid.T) {
				i, b := which(r)
				b.Close()
				for _, g := range l.claims {
					if g.by == i {
						g.by = -1
					}
				}
				l.boards[i] = l.open(r)
			},
			"shorten": func(r *rapid.T) {
				_, b := which(r)
				before := seen(r, b)
				if err := b.Shorten(); err != nil {
					r.Fatal(err)
				}
				if diff := cmp.Diff(before, seen(r, b)); diff != "" {
					r.Fatalf("rewritten it is another board:\n%s", diff)
				}
			},
			"torn": func(r *rapid.T) {
				text, err := os.ReadFile(l.path)
				if err != nil || len(text) == 0 || text[len(text)-1] != '\n' {
					return
				}
				part := rapid.SampledFrom([]string{"{", `{"v":1,"tasks":{"1":{"status":"completed"`, "\x00"}).Draw(r, "part")
				if err := os.WriteFile(l.path, append(text, part...), 0o600); err != nil {
					r.Fatal(err)
				}
			},
			"": func(r *rapid.T) {
				all := seen(r, l.boards[0])
				for _, b := range l.boards[1:] {
					if diff := cmp.Diff(all, seen(r, b)); diff != "" {
						r.Fatalf("two see different boards:\n%s", diff)
					}
				}
				l.check(r, all)
			},
		})
	})
}

func seen(r *rapid.T, b *board.Board) []board.Task {
	all, err := b.Tasks()
	if err != nil {
		r.Fatal(err)
	}
	return all
}

func (l *laws) check(r *rapid.T, all []board.Task) {
	there := map[string]board.Task{}
	for _, t := range all {
		there[t.ID] = t
		if n, _ := strconv.Atoi(t.ID); n > l.last {
			r.Fatalf("#%s was never made", t.ID)
		}
		if t.Token < l.tokens[t.ID] {
			r.Fatalf("#%s: token %d, after %d", t.ID, t.Token, l.tokens[t.ID])
		}
		l.tokens[t.ID] = t.Token
		g := l.newest[t.ID]
		if (g != nil) != (t.Status == board.InProgress) || g != nil && (g.Owner != t.Owner || g.Token != t.Token || t.Lapsed != (l.has(t.ID) == nil)) {
			r.Fatalf("%+v, not %+v", t, g)
		}
	}
	state := map[string]int{}
	var visit func(id string)
	visit = func(id string) {
		if state[id] == 1 {
			r.Fatalf("#%s waits for itself", id)
		}
		if state[id] == 2 {
			return
		}
		state[id] = 1
		for _, by := range there[id].BlockedBy {
			if !slices.Contains(there[by].Blocks, id) {
				r.Fatalf("#%s is blocked by #%s, which does not block it", id, by)
			}
			visit(by)
		}
		state[id] = 2
	}
	for id := range there {
		visit(id)
	}
}

// FuzzLines has a board read anything.
func FuzzLines(f *testing.F) {
	for _, text := range []string{
		`{"v":1,"n":7,"t":"2026-01-02T15:04:05Z","by":"s1/ann","tasks":{"3":{"subject":"x","status":"in_progress","owner":"s/a","token":4,"process":"0123456789abcdef","term":120000,"until":"2026-01-02T15:06:05Z","blockedBy":[1,2,2],"metadata":{"a":1},"more":[1]}}}` + "\n" + `{"v":1,"n":8,"t":"2026-01-02T15:04:06Z","tasks":{"3":{"status":"completed","until":null}}}`,
		`{"v":2,"n":7,"t":"2026-01-02T15:04:05Z","last":57,"epic":[]}`,
		`{"tasks":{"1":{"subject":1,"status":"","blockedBy":"x","until":7,"lost":-1,"term":1e300,"metadata":[]}}}`,
		`{"v":1,"n":7,"t":"2026-01-02T15:04:05Z","tasks":{"1":{"subject":"\ud800\u2028","status":"deleted"},"1":{"subject":"y"}}}`,
		`[]`, `7`, `"x"`, `null`, ` {} `,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, lines, _ := board.Read(text)
		before, err := b.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Outlook("s/a"); err != nil {
			t.Fatal(err)
		}
		again, twice, skipped := board.Read(bytes.Join(lines, []byte("\n")))
		after, err := again.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("rewritten it is another board:\n%s", diff)
		}
		if skipped > 0 || !slices.EqualFunc(lines, twice, bytes.Equal) {
			t.Fatalf("%d lines of our own are not known:\n%s\n%s", skipped, bytes.Join(lines, []byte("\n")), bytes.Join(twice, []byte("\n")))
		}
	})
}
