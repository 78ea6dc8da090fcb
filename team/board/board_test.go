package board_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop/team/board"
)

// clock is one that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func open(t testing.TB, path string, o board.Options) *board.Board {
	t.Helper()
	b, err := board.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func fresh(t testing.TB) string { return filepath.Join(t.TempDir(), "state", "tasks.jsonl") }

func create(t testing.TB, b *board.Board, subject string, blockedBy ...string) string {
	t.Helper()
	task, err := b.Create(t.Context(), board.New{Subject: subject, BlockedBy: blockedBy})
	if err != nil {
		t.Fatal(err)
	}
	return task.ID
}

func claim(t testing.TB, b *board.Board, owner, id string) *board.Claim {
	t.Helper()
	c, err := b.Claim(t.Context(), owner, id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func task(t testing.TB, b *board.Board, id string) board.Task {
	t.Helper()
	found, err := b.Task(id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestATaskGoesFromOneToTheNext(t *testing.T) {
	path := fresh(t)
	a, b := open(t, path, board.Options{}), open(t, path, board.Options{})
	first := create(t, a, "build")
	second := create(t, b, "test", first)
	c, err := a.ClaimNext(t.Context(), "s1/ann")
	if err != nil || c.Task.ID != first || c.Token != 1 {
		t.Fatal(c, err)
	}
	if _, err := b.ClaimNext(t.Context(), "s2/bob"); err == nil || err.Error() != board.ErrNothing.Error() {
		t.Fatal(err)
	}
	ready, err := c.Complete(t.Context(), "fine")
	if err != nil || len(ready) != 1 || ready[0] != second {
		t.Fatal(ready, err)
	}
	d, err := b.ClaimNext(t.Context(), "s2/bob")
	if err != nil || d.Task.ID != second {
		t.Fatal(d, err)
	}
	got := task(t, a, first)
	if got.Status != board.Completed || got.Owner != "s1/ann" || got.Result != "fine" || len(got.Blocks) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestIdsAreNeverUsedAgain(t *testing.T) {
	path := fresh(t)
	b := open(t, path, board.Options{})
	for range 3 {
		create(t, b, "x")
	}
	for _, id := range []string{"2", "3"} {
		if _, err := b.Change(t.Context(), id, board.Change{Status: board.Deleted}); err != nil {
			t.Fatal(err)
		}
	}
	if id := create(t, b, "x"); id != "4" {
		t.Fatalf("after 3 was deleted comes %s", id)
	}
	if _, err := b.Change(t.Context(), "4", board.Change{Status: board.Deleted}); err != nil {
		t.Fatal(err)
	}
	if err := b.Shorten(); err != nil {
		t.Fatal(err)
	}
	if id := create(t, open(t, path, board.Options{}), "x"); id != "5" {
		t.Fatalf("after 4 was deleted and the file rewritten comes %s", id)
	}
	for id, want := range map[string]string{"3": "#3 was deleted", "9": "the newest is #5, there is no #9", "x": `"x" is no id`, "0": "there is no #0", "-1": "no #-1"} {
		if _, err := b.Task(id); !errors.Is(err, board.ErrNoTask) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestEdgesThatCloseACircleAreRefusedAndTheCircleIsNamed(t *testing.T) {
	b := open(t, fresh(t), board.Options{})
	create(t, b, "a")
	create(t, b, "b", "1")
	create(t, b, "c", "2")
	before := tasks(t, b)
	for _, c := range []struct {
		id   string
		with board.Change
		want string
	}{
		{"1", board.Change{AddBlockedBy: []string{"3"}}, "#1 waits for #3, which waits for #2, which waits for #1,"},
		{"3", board.Change{AddBlocks: []string{"1"}}, "#1 waits for #3, which waits for #2, which waits for #1,"},
		{"1", board.Change{AddBlockedBy: []string{"1"}}, "#1 cannot wait for itself"},
		{"1", board.Change{AddBlocks: []string{"#1"}}, "#1 cannot wait for itself"},
		{"1", board.Change{AddBlockedBy: []string{"7"}}, "the newest is #3, there is no #7"},
		// The second edge closes a circle with the first one of the same change,
		// and nothing of it happens.
		{"1", board.Change{Subject: new("new"), DropBlocks: []string{"2"}, AddBlockedBy: []string{"2"}, AddBlocks: []string{"3", "2"}}, "#2 waits for #1, which waits for #2,"},
	} {
		if _, err := b.Change(t.Context(), c.id, c.with); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.with, err)
		}
	}
	_, err := b.Create(t.Context(), board.New{Subject: "d", BlockedBy: []string{"1"}, Blocks: []string{"1"}})
	if err == nil || !strings.Contains(err.Error(), "#1 waits for #4, which waits for #1") {
		t.Error(err)
	}
	if diff := cmp.Diff(before, tasks(t, b)); diff != "" {
		t.Errorf("something of it happened all the same:\n%s", diff)
	}
	// Turned round in one change it is no circle.
	if _, err := b.Change(t.Context(), "1", board.Change{DropBlocks: []string{"2"}, AddBlockedBy: []string{"2"}}); err != nil {
		t.Error(err)
	}
}

func tasks(t testing.TB, b *board.Board) []board.Task {
	t.Helper()
	all, err := b.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEdgesAreSeenFromBothEnds(t *testing.T) {
	b := open(t, fresh(t), board.Options{})
	for _, s := range []string{"a", "b", "c"} {
		create(t, b, s)
	}
	if _, err := b.Change(t.Context(), "2", board.Change{AddBlockedBy: []string{"1"}, AddBlocks: []string{"3", "3"}}); err != nil {
		t.Fatal(err)
	}
	all := tasks(t, b)
	if !slices.Equal(all[0].Blocks, []string{"2"}) || !slices.Equal(all[1].BlockedBy, []string{"1"}) || !slices.Equal(all[1].Blocks, []string{"3"}) || !slices.Equal(all[2].BlockedBy, []string{"2"}) {
		t.Errorf("%+v", all)
	}
	if got := task(t, b, "2"); !cmp.Equal(got, all[1]) {
		t.Error(cmp.Diff(got, all[1]))
	}
}

func TestADeletedTaskBlocksNobody(t *testing.T) {
	b := open(t, fresh(t), board.Options{})
	create(t, b, "a")
	create(t, b, "b", "1")
	create(t, b, "c", "1", "2")
	out, err := b.Change(t.Context(), "1", board.Change{Status: board.Deleted})
	if err != nil || out.Task.Status != board.Deleted || !slices.Equal(out.Ready, []string{"2"}) {
		t.Fatalf("%+v %v", out, err)
	}
	if got := task(t, b, "3"); !slices.Equal(got.BlockedBy, []string{"2"}) {
		t.Errorf("%+v", got)
	}
	// A completed one that is deleted makes nothing ready that was not.
	if _, err := b.Change(t.Context(), "2", board.Change{Status: board.Completed, By: "s/a"}); err != nil {
		t.Fatal(err)
	}
	create(t, b, "d", "3", "2")
	if out, err := b.Change(t.Context(), "2", board.Change{Status: board.Deleted}); err != nil || out.Ready != nil {
		t.Errorf("%+v %v", out, err)
	}
}

func TestLimitsAreSaid(t *testing.T) {
	b := open(t, fresh(t), board.Options{})
	create(t, b, "a")
	long := strings.Repeat("中", 201)
	for _, c := range []struct {
		with board.New
		want string
	}{
		{board.New{Subject: " \n"}, "this one is blank"},
		{board.New{Subject: long}, "the subject has 201 characters, the most is 200"},
		{board.New{Subject: "a", ActiveForm: long}, "the active form has 201"},
		{board.New{Subject: "a", Description: strings.Repeat("x", 8001)}, "the description has 8001 characters, the most is 8000"},
		{board.New{Subject: "a", Metadata: []byte(`[1]`)}, "metadata is an object"},
		{board.New{Subject: "a", Metadata: []byte(`{`)}, "metadata is an object"},
		{board.New{Subject: "a", Metadata: []byte(`{"a":"` + strings.Repeat("x", 4000) + `"}`)}, "the metadata has 4008 bytes, the most is 4000"},
		{board.New{Subject: "a", Owner: "a b"}, "no name of an owner"},
		{board.New{Subject: "a", By: strings.Repeat("a", 201)}, "has 201 bytes"},
	} {
		if _, err := b.Create(t.Context(), c.with); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80v: %v", c.with, err)
		}
	}
	var many []string
	for range board.MostBlockers + 1 {
		many = append(many, create(t, b, "b"))
	}
	if _, err := b.Change(t.Context(), "1", board.Change{AddBlockedBy: many}); err == nil || !strings.Contains(err.Error(), "#1 waits for 100 tasks, which is the most") {
		t.Error(err)
	}
	got, err := b.Create(t.Context(), board.New{Subject: "two\nlines\x1b[31m \u2028 and\xff", Description: "kept\nas it is"})
	if err != nil || got.Subject != "two lines [31m and\ufffd" || got.Description != "kept\nas it is" {
		t.Errorf("%q %q %v", got.Subject, got.Description, err)
	}
}

func TestABoardHoldsSoManyTasks(t *testing.T) {
	path := fresh(t)
	var file bytes.Buffer
	for id := 1; id <= board.MostTasks; id++ {
		fmt.Fprintf(&file, `{"v":1,"n":%d,"t":"2026-01-02T03:04:05Z","tasks":{"%d":{"subject":"x"}}}`+"\n", id, id)
	}
	b := open(t, path, board.Options{})
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(t.Context(), board.New{Subject: "one more"}); err == nil || !strings.Contains(err.Error(), "the board has 10000 tasks, which is the most") {
		t.Fatal(err)
	}
	if _, err := b.Change(t.Context(), "7", board.Change{Status: board.Deleted}); err != nil {
		t.Fatal(err)
	}
	if id := create(t, b, "one more"); id != "10001" {
		t.Error(id)
	}
}

func TestMetadataIsMerged(t *testing.T) {
	b := open(t, fresh(t), board.Options{})
	if _, err := b.Create(t.Context(), board.New{Subject: "a", Metadata: []byte(`{"b":1,"a":{"x":[1,2]}}`)}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{`{"b":null,"c":"ü"}`, `{}`} {
		if _, err := b.Change(t.Context(), "1", board.Change{Metadata: []byte(m)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(task(t, b, "1").Metadata); got != `{"a":{"x":[1,2]},"c":"ü"}` {
		t.Error(got)
	}
}

// TestAFileOfAnotherVersionIsKept has lines in it that this version cannot know.
func TestAFileOfAnotherVersionIsKept(t *testing.T) {
	path := fresh(t)
	var notices []string
	b := open(t, path, board.Options{Notice: func(s string) { notices = append(notices, s) }})
	text := `{"v":2,"n":1,"t":"2026-01-02T03:04:05Z","tasks":{"1":{"subject":"a","colour":{"r":1},"status":"paused"}},"epic":[1]}
{"v":2,"n":2,"t":"2026-01-02T03:04:05Z","epic":[2],"phase":"x"}
{"v":2,"n":3,"t":"2026-01-02T03:04:05Z","phase":null,"tasks":{"2":{"subject":"b","blockedBy":[1]},"1":{"size":7}}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), "s/a", "1"); err == nil || !strings.Contains(err.Error(), `#1 is "paused", which this version does not know`) {
		t.Error(err)
	}
	o, err := b.Outlook("s/a")
	if err != nil || o.Prospect != board.Stuck || !strings.Contains(o.Why, "paused") {
		t.Errorf("%+v %v", o, err)
	}
	if err := b.Shorten(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"colour":{"r":1}`, `"size":7`, `"status":"paused"`, `"epic":[2]`, `"last":2`} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s is lost: %s", want, got)
		}
	}
	if bytes.Contains(got, []byte("phase")) || len(notices) > 0 {
		t.Errorf("%s %q", got, notices)
	}
}

func TestDamagedLinesAreLeftOutAndToldOnce(t *testing.T) {
	path := fresh(t)
	var notices []string
	b := open(t, path, board.Options{Notice: func(s string) { notices = append(notices, s) }})
	create(t, b, "a")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\n", `{"v":1,"n":2,"t":"2026-01-02T03:04:0`) // torn
	fmt.Fprintf(f, "%s\n", "\x00\x00\x00")
	fmt.Fprintf(f, "%s\n", `[1]`)
	fmt.Fprintf(f, "%s\n", `{"v":1,"n":3,"t":"2026-01-02T03:04:05Z","tasks":{"9":{"status":"completed"}}}`) // its first line is lost
	fmt.Fprintf(f, "%s\n", `{"v":1,"n":3,"t":"2026-01-02T03:04:05Z","tasks":{"99999999999999999999":{"subject":"x"},"4294967296":{"subject":"x"}}}`)
	fmt.Fprintf(f, "%s", `{"v":1,"n":4,"t":"2026-01-02T03:04:05Z","tasks":{"1":{"subj`) // being written
	if id := create(t, b, "b"); id != "10" {
		t.Errorf("the next id is %s; 9 was given", id)
	}
	for range 3 {
		if all := tasks(t, b); len(all) != 2 || all[0].Subject != "a" || all[1].Subject != "b" {
			t.Errorf("%+v", all)
		}
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "6 lines of the task board could not be read") || !strings.Contains(notices[0], path) {
		t.Errorf("%q", notices)
	}
}

func TestAnOldReaderFollowsAFileThatWasRewritten(t *testing.T) {
	path := fresh(t)
	a, b := open(t, path, board.Options{}), open(t, path, board.Options{})
	create(t, a, "a")
	c := claim(t, a, "s/a", "1")
	tasks(t, b)
	for i := range 3 * board.LeastLines {
		if _, err := a.Change(t.Context(), "1", board.Change{Subject: new(fmt.Sprint("subject ", i))}); err != nil {
			t.Fatal(err)
		}
	}
	if n := a.Lines(); n > board.LeastLines+1 {
		t.Errorf("the file of one task has %d lines", n)
	}
	got := task(t, b, "1")
	if got.Subject != fmt.Sprint("subject ", 3*board.LeastLines-1) || got.Owner != "s/a" || got.Token != 1 || got.Lapsed {
		t.Errorf("%+v", got)
	}
	if _, err := c.Complete(t.Context(), ""); err != nil {
		t.Error(err)
	}
}
