package prompt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"oneloop"
	"oneloop/prompt"
)

// remembering is an agent with a memory.
type remembering struct {
	t    *testing.T
	tool oneloop.Tool
}

func (r remembering) call(input string) *oneloop.ToolResult {
	r.t.Helper()
	if err := r.tool.Check(json.RawMessage(input)); err != nil {
		r.t.Fatal(err)
	}
	result, err := r.tool.Run(context.Background(), &oneloop.ToolUse{ID: "x", Name: "Memory", Input: json.RawMessage(input)}, func(oneloop.Event) {})
	if err != nil {
		return oneloop.ErrorResult(err.Error())
	}
	return result
}

// says calls and wants a result that holds all of these.
func (r remembering) says(input string, want ...string) {
	r.t.Helper()
	got := r.call(input).Text()
	for _, w := range want {
		if !strings.Contains(got, w) {
			r.t.Errorf("%s: %q does not say %q", input, got, w)
		}
	}
}

func written(name, text string) string {
	return fmt.Sprintf(`{"action":"write","name":%q,"type":"project","description":"about %s","text":%q}`, name, name, text)
}

func TestNotesOutliveTheSession(t *testing.T) {
	m := &prompt.Memory{Dir: filepath.Join(t.TempDir(), "deep", "memory")}
	if index, err := m.Index(); index != "" || err != nil {
		t.Errorf("%q, %v", index, err)
	}
	first := remembering{t, m.Tool()}
	first.says(`{"action":"list"}`, "There are no notes.")
	first.says(written("Build Commands.md", "run make\n---\nnot go build"), "Kept.")
	first.says(written("build-commands", "run make test"), "Kept.") // it knows what it wrote
	first.says(written("习惯", "用中文"), "Kept.")

	second := remembering{t, (&prompt.Memory{Dir: m.Dir}).Tool()}
	second.says(`{"action":"list"}`, "- build-commands (project): about build-commands", "- 习惯 (project)")
	second.says(`{"action":"read","name":"build-commands"}`, "run make test", "written 2")
	second.says(`{"action":"delete","name":"build-commands"}`, "Deleted.")
	second.says(`{"action":"read","name":"build-commands"}`, `there is no note "build-commands"`)
	second.says(`{"action":"delete","name":"build-commands"}`, "there is no note")
	second.says(`{"action":"forget"}`, `"forget" is none; it is list, read, write or delete`)
	index, err := m.Index()
	if !prompt.IsMemory(index) || strings.Contains(index, "build") || !strings.Contains(index, "- 习惯 (project): about 习惯") || err != nil {
		t.Errorf("%q, %v", index, err)
	}
	info, err := os.Stat(m.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestNoSessionWritesOverWhatItHasNotRead(t *testing.T) {
	m := &prompt.Memory{Dir: t.TempDir()}
	one, two := remembering{t, m.Tool()}, remembering{t, m.Tool()}
	one.says(written("plan", "of one"), "Kept.")
	two.says(written("plan", "of two"), "nothing was changed: there is a note plan that this session has not read", "of one")
	one.says(`{"action":"read","name":"plan"}`, "of one")
	two.says(written("plan", "of both"), "Kept.") // it has seen it by now
	one.says(`{"action":"delete","name":"plan"}`, "nothing was changed", "of both")
	one.says(written("plan", "again of one"), "Kept.")
	two.says(`{"action":"read","name":"plan"}`, "again of one")
	one.says(`{"action":"delete","name":"plan"}`, "Deleted.")
	two.says(written("plan", "late"), "the note plan is gone: another session deleted it")
	two.says(written("plan", "late"), "Kept.")
}

// TestManyWritersLoseNothing has every writer put its line into one note, each
// time starting from what it was told.
func TestManyWritersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			m := &prompt.Memory{Dir: dir} // as another process: it locks its own file
			mine, seen := fmt.Sprintf("line %d.", i), prompt.Note{}
			for {
				text := strings.TrimSpace(seen.Text + "\n" + mine)
				_, err := m.Write(t.Context(), prompt.Note{Name: "shared", Type: "project", Description: "lines", Text: text}, seen)
				if err == nil {
					return
				}
				var changed *prompt.ChangedError
				if !errors.As(err, &changed) {
					t.Error(err)
					return
				}
				seen = changed.Now
			}
		})
	}
	all.Wait()
	n, err := (&prompt.Memory{Dir: dir}).Read("shared")
	for i := range 8 {
		if !strings.Contains(n.Text, fmt.Sprintf("line %d.", i)) {
			t.Errorf("line %d is lost: %q, %v", i, n.Text, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".new-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWhatAKilledWriterLeftIsNoNoteAndGoesAway(t *testing.T) {
	m := &prompt.Memory{Dir: t.TempDir()}
	put(t, m.Dir, ".new-123", "half a no")
	put(t, m.Dir, "mine.md", "# written by hand")
	put(t, m.Dir, "picture.png", "x")
	r := remembering{t, m.Tool()}
	r.says(`{"action":"list"}`, "no notes, by their form: mine.md, picture.png")
	r.says(written("mine", "x"), "nothing was changed", "# written by hand")
	r.says(written("mine", "x"), "Kept.")
	if _, err := os.Stat(filepath.Join(m.Dir, ".new-123")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestAMemoryHasBoundsAndSaysThem(t *testing.T) {
	m := &prompt.Memory{Dir: t.TempDir(), Secret: func(text string) string {
		if strings.Contains(text, "canary") {
			return "a canary"
		}
		return ""
	}}
	r := remembering{t, m.Tool()}
	for input, want := range map[string]string{
		written("../up", "x"):                                        `name: "../up" is none`,
		written(strings.Repeat("a", 61), "x"):                        "name:",
		written("a", ""):                                             "text: it has 0 bytes",
		written("a", strings.Repeat("x", 8<<10+1)):                   "text: it has 8193 bytes",
		written("a", "the canary"):                                   "it holds a canary, and secrets are not kept",
		`{"action":"write","name":"a","text":"x","description":"d"}`: `type: "" is none; it is one of user, feedback`,
		`{"action":"write","name":"a","text":"x","description":"d\ne","type":"user"}`:   "description: it must be one line",
		`{"action":"write","name":"a","text":"x","type":"user"}`:                        "description: it must be one line",
		`{"action":"write","name":"a","text":"x","description":"canary","type":"user"}`: "a canary",
		`{"action":"read","name":"../../etc/passwd"}`:                                   "there is no note",
	} {
		r.says(input, want)
	}
	for i := range 100 {
		r.says(written(fmt.Sprint("n", i), "x"), "Kept.")
	}
	r.says(written("more", "x"), "there are 100 notes, the most there can be")
	r.says(written("n1", "y"), "Kept.")
	index, err := m.Index()
	if err != nil || len(index) > 5<<10 || !strings.Contains(index, "- n1 (") {
		t.Errorf("%d bytes, %v", len(index), err)
	}
}

func TestAnIndexThatIsTooLongNamesWhatWasWrittenLast(t *testing.T) {
	m := &prompt.Memory{Dir: t.TempDir()}
	for i := range 40 {
		n := prompt.Note{Name: fmt.Sprintf("n%02d", i), Type: "user", Description: strings.Repeat("d", 190), Text: "x"}
		if _, err := m.Write(t.Context(), n, prompt.Note{}); err != nil {
			t.Fatal(err)
		}
	}
	index, err := m.Index()
	if err != nil || len(index) > 4<<10+30 || !strings.Contains(index, "n39") || strings.Contains(index, "n00") || !strings.HasSuffix(index, " more: list)") {
		t.Errorf("%v: %s", err, index)
	}
}

func TestWhatIsReadFromAMemoryChangesNothing(t *testing.T) {
	tool := (&prompt.Memory{}).Tool()
	for in, want := range map[string]oneloop.Effect{
		`{"action":"list"}`: oneloop.ReadOnly, `{"action":"read"}`: oneloop.ReadOnly, `{"action":"write"}`: oneloop.Idempotent, `{"action":"delete"}`: oneloop.Idempotent, `{`: oneloop.Idempotent,
	} {
		if got := tool.Effect(&oneloop.ToolUse{Input: json.RawMessage(in)}); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
	def, err := json.Marshal(map[string]any{"name": tool.Name, "description": tool.Description, "input_schema": tool.Schema})
	if err != nil || len(def) > 350 {
		t.Errorf("%d bytes of every request are its description, %v", len(def), err)
	}
}
