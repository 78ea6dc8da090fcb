package tool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"oneloop"
	"oneloop/tool"
	"oneloop/workspace"
)

// desk is a workspace with the tools on its files.
type desk struct {
	testing.TB
	root  string
	files *tool.Files
	box   oneloop.Toolbox
}

func sit(t testing.TB, opts tool.FilesOptions) *desk {
	t.Helper()
	ws := open(t, workspace.LocalOptions{})
	files := tool.NewFiles(ws, opts)
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return &desk{t, ws.Describe().Root, files, oneloop.Toolbox{
		Tools:   []oneloop.Tool{files.Read(), files.Write(), files.Edit(), files.Watch(tool.Bash(ws, tool.BashOptions{}))},
		Aliases: tool.Aliases(),
	}}
}

type fields map[string]any

// ask answers one call.
func (d *desk) ask(name string, in any) *oneloop.ToolResult {
	d.Helper()
	return d.turn([]any{name, in})[0]
}

// turn answers several calls of one message, each a name and an input.
func (d *desk) turn(calls ...[]any) []*oneloop.ToolResult {
	d.Helper()
	var uses []*oneloop.ToolUse
	for i, c := range calls {
		input, err := json.Marshal(c[1])
		if err != nil {
			d.Fatal(err)
		}
		uses = append(uses, &oneloop.ToolUse{ID: fmt.Sprint("t", i), Name: c[0].(string), Input: input})
	}
	msg := d.box.Run(d.Context(), uses, func(oneloop.Event) {})
	var results []*oneloop.ToolResult
	for i, b := range msg.Blocks {
		r := b.(*oneloop.ToolResult)
		if r.ID != uses[i].ID || r.Text() == "" {
			d.Errorf("result %d is for %s: %q", i, r.ID, r.Text())
		}
		results = append(results, r)
	}
	return results
}

// works is ask for a call that succeeds.
func (d *desk) works(name string, in any) string {
	d.Helper()
	r := d.ask(name, in)
	if r.IsError {
		d.Fatalf("%s %v failed: %s", name, in, r.Text())
	}
	return r.Text()
}

// fails is ask for a call that fails with a text that has all the parts.
func (d *desk) fails(name string, in any, parts ...string) string {
	d.Helper()
	r := d.ask(name, in)
	if !r.IsError {
		d.Errorf("%s %v worked: %s", name, in, r.Text())
	}
	for _, p := range parts {
		if !strings.Contains(r.Text(), p) {
			d.Errorf("%s %v: %q does not say %q", name, in, r.Text(), p)
		}
	}
	return r.Text()
}

func (d *desk) put(name, content string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.root, name), []byte(content), 0o644); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) has(name, want string) {
	d.Helper()
	got, err := os.ReadFile(filepath.Join(d.root, name))
	if err != nil || string(got) != want {
		d.Errorf("%s is %q, want %q (%v)", name, got, want, err)
	}
}

func (d *desk) edit(name, old, now string) fields {
	return fields{"file_path": name, "old_string": old, "new_string": now}
}

func TestAnEditKeepsLineEndsAndTheEndOfTheFile(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("w.txt", "a\r\nb\r\nc")
	d.put("u.txt", "a\nb\nc\n")
	d.put("m.txt", "a\nb\r\nc\nd\r\n")
	d.works("Edit", d.edit("w.txt", "a\nb", "a\nX\nb"))
	d.works("Edit", d.edit("u.txt", "a\r\nb", "a\r\nX\r\nb"))
	d.works("Edit", d.edit("m.txt", "b\nc\nd", "b\nX\nc\nY\nd"))
	d.has("w.txt", "a\r\nX\r\nb\r\nc")
	d.has("u.txt", "a\nX\nb\nc\n")
	d.has("m.txt", "a\nb\r\nX\r\nc\nY\nd\r\n")
	d.fails("Edit", d.edit("u.txt", "a\nX", "a\r\nX"), "line ends only")
}

func TestAByteOrderMarkIsKeptAndNoneIsMade(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("t.ps1", "\xef\xbb\xbfhello\r\n中文\r\n")
	if got := d.works("Read", fields{"file_path": "t.ps1"}); strings.Contains(got, "\ufeff") || !strings.HasPrefix(got, "1\thello\n2\t中文\n[UTF-8 with a byte order mark; CRLF") {
		t.Errorf("it reads %q", got)
	}
	d.works("Edit", d.edit("t.ps1", "hello", "hello2"))
	d.has("t.ps1", "\xef\xbb\xbfhello2\r\n中文\r\n")
	d.works("Write", fields{"file_path": "t.ps1", "content": "你好\nb\n"})
	d.has("t.ps1", "\xef\xbb\xbf你好\r\nb\r\n")
	d.works("Write", fields{"file_path": "t.ps1", "content": "\ufeffx\n"})
	d.has("t.ps1", "\xef\xbb\xbfx\r\n")
	d.works("Write", fields{"file_path": "new.ps1", "content": "a\r\n中\n"})
	d.has("new.ps1", "a\r\n中\n")
}

func TestOtherEncodingsAreEditedAndKept(t *testing.T) {
	gbk := "\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7\r\n" // 你好，世界
	for _, c := range []struct{ name, raw, old, now, want, about string }{
		{"gbk.txt", gbk + "x\r\n", "世界\nx", "中国\nx\ny", "\xc4\xe3\xba\xc3\xa3\xac\xd6\xd0\xb9\xfa\r\nx\r\ny\r\n", "GB18030, which is a guess; CRLF line ends"},
		{"latin.txt", "caf\xe9 x\nb\n", "café", "thé", "th\xe9 x\nb\n", "Latin-1, which is a guess"},
		{"wide.txt", "\xff\xfea\x00\n\x00b\x00\n\x00", "b", "中\nc", "\xff\xfea\x00\n\x00\x2d\x4e\n\x00c\x00\n\x00", "UTF-16LE with a byte order mark"},
		{"big.txt", "\xfe\xff\x00a\x00\r\x00\n\x00b", "a", "z\na", "\xfe\xff\x00z\x00\r\x00\n\x00a\x00\r\x00\n\x00b", "UTF-16BE with a byte order mark; CRLF line ends"},
		{"log.txt", strings.Repeat("日志", 20)[:118], "日志日志日", "新", "", "bytes that are not are shown as"},
	} {
		d := sit(t, tool.FilesOptions{})
		d.put(c.name, c.raw)
		if got := d.works("Read", fields{"file_path": c.name}); !strings.Contains(got, c.about) {
			t.Errorf("%s reads %q, which does not say %q", c.name, got, c.about)
		}
		if c.want == "" {
			continue
		}
		d.works("Edit", d.edit(c.name, c.old, c.now))
		d.has(c.name, c.want)
	}
	d := sit(t, tool.FilesOptions{})
	d.put("latin.txt", "caf\xe9 x\n")
	d.fails("Edit", d.edit("latin.txt", "café", "咖啡"), "Latin-1", "咖", "iconv")
	d.works("Read", fields{"file_path": "latin.txt"})
	d.fails("Write", fields{"file_path": "latin.txt", "content": "咖啡\n"}, "Latin-1")
	d.has("latin.txt", "caf\xe9 x\n")
}

func TestTheEncodingThatWasToldIsNotGuessedAnew(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("l.txt", "caf\xe9 x\n")
	d.works("Read", fields{"file_path": "l.txt"})
	d.works("Edit", d.edit("l.txt", "café x", "Ã©")) // the bytes are UTF-8 too
	d.has("l.txt", "\xc3\xa9\n")
	d.works("Edit", d.edit("l.txt", "Ã©", "ü"))
	d.has("l.txt", "\xfc\n")
}

func TestNewTextIsNoPattern(t *testing.T) {
	const odd = "A$&B $$ $1 ${1} $` $' \\1 \\n %s %!d"
	d := sit(t, tool.FilesOptions{})
	d.put("a", "one two one")
	d.works("Edit", d.edit("a", "two", odd))
	d.has("a", "one "+odd+" one")
	got := d.works("Edit", fields{"file_path": "a", "old_string": "one", "new_string": odd, "replace_all": true})
	d.has("a", odd+" "+odd+" "+odd)
	if !strings.Contains(got, "2 places") {
		t.Errorf("it says %q", got)
	}
	d.works("Edit", d.edit("a", odd+" "+odd+" ", ".*"))
	d.has("a", ".*"+odd)
}

func TestAnEditThatIsNotClearChangesNothingAndSaysWhy(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	const code = "func A() {\n\tx := 1\n}\nfunc B() {\n\tx := 1\n}\n\tx := 1\n"
	d.put("a.go", code)
	d.put("abc", "abc")
	d.put("empty", "")
	d.fails("Edit", d.edit("abc", "", "X"), "old_string is empty", "Write")
	d.fails("Edit", d.edit("abc", "abc", "abc"), "same")
	d.fails("Edit", d.edit("a.go", "\tx := 1", "\ty := 1"), "occurs 3 times", "lines 2, 5, 7", "replace_all")
	d.fails("Edit", d.edit("a.go", "func A() {\n    x := 1\n}", "y"), "not found", "line 1", "indents with tabs", "2\t\tx := 1")
	d.fails("Edit", d.edit("a.go", "func b() {", "y"), "not found", "line 4", "case")
	d.fails("Edit", d.edit("a.go", "something else entirely", "y"), "Nothing in its 8 lines is like it")
	d.fails("Edit", d.edit("a.go", "func C() {", "func A() {\n\tx"), "new_string is there already, in line 1")
	d.fails("Edit", d.edit("missing.go", "a", "b"), "does not exist")
	d.fails("Edit", d.edit("A.go", "a", "b"), "does not exist", "a.go")
	d.fails("Edit", d.edit("", "a", "b"), "file_path is empty")
	d.fails("Edit", fields{"file_path": "abc"}, "old_string and new_string, or edits")
	d.fails("Edit", fields{"file_path": "abc", "old_string": "a", "new_string": "b", "edits": []fields{{"old_string": "a", "new_string": "b"}}}, "either")
	d.fails("Edit", fields{"file_path": "abc", "old_string": "a", "new_string": "b", "backup": true}, "backup")
	d.has("a.go", code)
	d.has("abc", "abc")
	d.works("Edit", d.edit("empty", "", "text\n"))
	d.has("empty", "text\n")
	d.works("Edit", d.edit("sub/new", "", "text\n"))
	d.has("sub/new", "text\n")
}

func TestSeveralEditsAreMadeOneAfterTheOtherOrNotAtAll(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	got := d.works("Edit", fields{"file_path": "a", "edits": []fields{
		{"old_string": "2", "new_string": "two"}, {"old_string": "two\n3", "new_string": "two\nthree"}, {"old_string": "9", "new_string": "2"},
	}})
	d.has("a", "1\ntwo\nthree\n4\n5\n6\n7\n8\n2\n")
	want := "Edited a, 3 places\n@@ -1,5 +1,5 @@\n 1\n-2\n-3\n+two\n+three\n 4\n 5\n@@ -7,3 +7,3 @@\n 7\n 8\n-9\n+2"
	if got != want {
		t.Error(cmp.Diff(want, got))
	}
	d.fails("Edit", fields{"file_path": "a", "edits": []fields{
		{"old_string": "1", "new_string": "one"}, {"old_string": "zzz", "new_string": "y"}}}, "edit 2 of 2", "none was made")
	d.has("a", "1\ntwo\nthree\n4\n5\n6\n7\n8\n2\n")
	d.fails("Edit", fields{"file_path": "a", "edits": []fields{{"old_string": "1"}}}, "new_string")
	d.fails("Edit", fields{"file_path": "a", "edits": []fields{
		{"old_string": "1\ntwo", "new_string": "1 2"}, {"old_string": "two\nthree", "new_string": "2 3"}}}, "edit 2 of 2", "an edit before it in this call changes that text")
}

func TestTheDiffOfALargeChangeIsShort(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("a", strings.Repeat("x "+strings.Repeat("y", 1000)+"\n\n\n\n\n\n\n", 500))
	got := d.works("Edit", fields{"file_path": "a", "old_string": "x", "new_string": "z", "replace_all": true})
	if len(got) > 6000 || !strings.Contains(got, "500 places") || !strings.Contains(got, "[not all is shown: 500 lines added, 500 removed]") {
		t.Errorf("%d bytes: %s", len(got), got[:min(len(got), 500)])
	}
}

func TestWriteKeepsHowAFileIsWritten(t *testing.T) {
	for _, c := range []struct{ name, old, content, want string }{
		{"CRLF", "a\r\nb\r\n", "a\nX\nb\n", "a\r\nX\r\nb\r\n"},
		{"LF", "a\nb\n", "a\r\nX\r\n", "a\nX\n"},
		{"mixed", "a\nb\r\nc\n", "a\nb\nX\nc\n", "a\nb\r\nX\r\nc\n"},
		{"the newline at the end", "a\n", "b", "b\n"},
		{"no newline at the end", "a", "b", "b"},
		{"one line", "a", "b\r\nc\r\n", "b\r\nc\r\n"},
		{"GB18030", "\xc4\xe3\xba\xc3\n", "你们好\n", "\xc4\xe3\xc3\xc7\xba\xc3\n"},
		{"nothing left", "a\n", "", ""},
		{"empty", "", "a\r\nb", "a\r\nb"},
		{"UTF-16", "\xff\xfea\x00\r\x00\n\x00", "b\n", "\xff\xfeb\x00\r\x00\n\x00"},
	} {
		d := sit(t, tool.FilesOptions{})
		d.put("f", c.old)
		d.works("Read", fields{"file_path": "f"})
		d.works("Write", fields{"file_path": "f", "content": c.content})
		if got, err := os.ReadFile(filepath.Join(d.root, "f")); string(got) != c.want || err != nil {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
	}
}

func TestWriteRefusesAFileThatWasNeverRead(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("f", "precious\n")
	d.put("g", "precious\n")
	d.fails("Write", fields{"file_path": "f", "content": "x"}, "have not read it", "Read it first")
	d.has("f", "precious\n")
	d.works("Read", fields{"file_path": "f"})
	if got := d.works("Write", fields{"file_path": "f", "content": "x\n"}); got != "Wrote f\n@@ -1 +1 @@\n-precious\n+x" {
		t.Errorf("it says %q", got)
	}
	d.works("Edit", d.edit("g", "precious", "known"))
	d.works("Write", fields{"file_path": "g", "content": "x\n"})
	d.works("Write", fields{"file_path": "new/a/b", "content": "1\n"})
	d.works("Write", fields{"file_path": "new/a/b", "content": "2\n"})
	d.has("new/a/b", "2\n")

	d = sit(t, tool.FilesOptions{Overwrite: true})
	d.put("f", "precious\n")
	d.works("Write", fields{"file_path": "f", "content": "x\n"})
}

func TestAFileThatSomebodyElseChangedIsRefusedWithWhatChanged(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("f", "a\nb\nc\n")
	d.works("Read", fields{"file_path": "f"})
	d.put("f", "a\nB by hand\nc\n")
	said := d.fails("Edit", d.edit("f", "a\n", "A\n"), "changed by somebody else", "-b\n+B by hand")
	if strings.Contains(said, "Read it again") {
		t.Errorf("it was told all: %s", said)
	}
	d.has("f", "a\nB by hand\nc\n")
	d.works("Edit", d.edit("f", "a\n", "A\n")) // now it knows

	d.put("f", "gone\n")
	d.fails("Write", fields{"file_path": "f", "content": "x\n"}, "changed by somebody else", "+gone")
	d.has("f", "gone\n")

	many := strings.Repeat("line\n", 200)
	d.put("f", many)
	d.fails("Edit", d.edit("f", "gone", "x"), "Read it again")
	d.fails("Edit", d.edit("f", "gone", "x"), "Read it again")
	d.works("Read", fields{"file_path": "f"})
	d.works("Write", fields{"file_path": "f", "content": "x\n"})

	d.put("f", "x\r\n")
	d.fails("Write", fields{"file_path": "f", "content": "y\n"}, "only line ends or the encoding differ")
}

func TestAFileThatSomebodyElseDeletedIsRefusedOnce(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	for _, c := range []struct {
		name string
		in   any
	}{{"Write", fields{"file_path": "f", "content": "x\n"}}, {"Edit", d.edit("f", "", "x\n")}} {
		d.put("f", "a\n")
		d.works("Read", fields{"file_path": "f"})
		if err := os.Remove(filepath.Join(d.root, "f")); err != nil {
			t.Fatal(err)
		}
		d.works("Bash", fields{"command": "true"}) // did not do it
		d.fails(c.name, c.in, "was deleted or moved by somebody else")
		if _, err := os.Stat(filepath.Join(d.root, "f")); err == nil {
			t.Error("it is there again")
		}
		d.works(c.name, c.in)
	}

	// A command of its own is nobody else, and who was told knows.
	d.works("Bash", fields{"command": "rm f"})
	d.works("Write", fields{"file_path": "f", "content": "a\n"})
	if err := os.Remove(filepath.Join(d.root, "f")); err != nil {
		t.Fatal(err)
	}
	d.fails("Read", fields{"file_path": "f"}, "does not exist")
	d.works("Write", fields{"file_path": "f", "content": "a\n"})
}

func TestWhatRunsWhileItIsWatchedIsNotSomebodyElse(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("f", "a:=1\n")
	d.works("Read", fields{"file_path": "f"})
	done := d.files.Watching()
	d.put("f", "a := 1\n")
	done()
	d.fails("Edit", d.edit("f", "a:=1", "a:=2"), "not found", "hook had changed the file")
	if got := d.works("Edit", d.edit("f", "a := 1", "a := 2")); !strings.Contains(got, "hook had changed the file") {
		t.Errorf("it does not say that it changed: %s", got)
	}
}

func TestTheAgentsOwnChangesAreNotSomebodyElses(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("f", "a\nb\n")
	d.put("g", "1\n")
	d.works("Read", fields{"file_path": "f"})
	d.works("Read", fields{"file_path": "g"})
	d.works("Edit", d.edit("f", "a", "A"))
	d.works("Edit", d.edit("f", "b", "B"))
	d.works("Bash", fields{"command": "printf '  A\\n  B\\n' > f; touch g"})
	if got := d.works("Edit", d.edit("f", "  A", "  AA")); !strings.Contains(got, "a command or hook had changed the file since you read it") {
		t.Errorf("it does not say that it changed: %s", got)
	}
	if got := d.works("Edit", d.edit("f", "  B", "  BB")); strings.Contains(got, "a command") {
		t.Errorf("it says so twice: %s", got)
	}
	d.works("Edit", d.edit("g", "1", "2"))
	d.works("Bash", fields{"command": "sed -i s/AA/aa/ f"})
	d.works("Write", fields{"file_path": "f", "content": "new\n"})
	d.works("Bash", fields{"command": "echo other > f"})
	d.fails("Edit", d.edit("f", "new", "x"), "not found", "a command or hook had changed the file")

	// What somebody else did before a command ran is still theirs.
	d.works("Read", fields{"file_path": "g"})
	d.put("g", "by hand\n")
	d.works("Bash", fields{"command": "true"})
	d.fails("Edit", d.edit("g", "by hand", "x"), "somebody else", "+by hand")

	d.works("Bash", fields{"command": "rm f"})
	d.works("Write", fields{"file_path": "f", "content": "again\n"})
	d.has("f", "again\n")
}

func TestAChangeThatLeavesSizeAndTimeOfAFileIsSeen(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	now := time.Now().Add(time.Hour) // within the step of a coarse clock, so to say
	for _, name := range []string{"f", "ref"} {
		d.put(name, "a\n")
		if err := os.Chtimes(filepath.Join(d.root, name), now, now); err != nil {
			t.Fatal(err)
		}
	}
	d.works("Read", fields{"file_path": "f"})
	d.works("Bash", fields{"command": "printf b | dd of=f conv=notrunc 2>/dev/null; touch -r ref f"})
	d.works("Edit", d.edit("f", "b", "c"))
}

func TestAnotherAgentOfTheSessionIsNotSomebodyElse(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	child := *d
	child.box.Tools = []oneloop.Tool{d.files.Child().Read(), d.files.Child().Edit()}
	d.put("f", "a\n")
	d.works("Read", fields{"file_path": "f"})
	child.works("Edit", d.edit("f", "a", "b"))
	if got := d.works("Edit", d.edit("f", "b", "c")); !strings.Contains(got, "another agent had changed") {
		t.Errorf("it says %s", got)
	}
	d.put("f", "by hand\n")
	child.works("Read", fields{"file_path": "f"})
	d.fails("Edit", d.edit("f", "by hand", "x"), "somebody else") // what a child read is not what this one knows
	if diff := d.files.Diff(); len(diff) != 1 || !strings.Contains(diff[0].Diff, "-a\n+by hand") {
		t.Errorf("the diff of both is %+v", diff)
	}
}

func TestTenEditsOfOneFileInOneTurnAllLandInOrder(t *testing.T) {
	for range 20 {
		d := sit(t, tool.FilesOptions{})
		var lines, want strings.Builder
		for i := 1; i <= 100; i++ {
			fmt.Fprintf(&lines, "line %d.\n", i)
			if i%10 == 5 {
				fmt.Fprintf(&want, "changed %d.\n", i)
			} else {
				fmt.Fprintf(&want, "line %d.\n", i)
			}
		}
		d.put("n.txt", lines.String())
		if err := os.Symlink("n.txt", filepath.Join(d.root, "link")); err != nil {
			t.Skip(err)
		}
		names := []string{"n.txt", "./n.txt", "link", filepath.Join(d.root, "n.txt")}
		var calls [][]any
		for i := range 10 {
			old := fmt.Sprintf("line %d.", 10*i+5)
			calls = append(calls, []any{"Edit", d.edit(names[i%len(names)], old, strings.Replace(old, "line", "changed", 1))})
		}
		calls = append(calls, []any{"Write", fields{"file_path": "other", "content": "x"}}, []any{"Bash", fields{"command": "echo >> log"}})
		for i, r := range d.turn(calls...) {
			if r.IsError {
				t.Errorf("call %d: %s", i, r.Text())
			} else if i < 10 && !strings.Contains(r.Text(), fmt.Sprintf("+changed %d.", 10*i+5)) {
				t.Errorf("result %d is of another call: %s", i, r.Text())
			}
		}
		d.has("n.txt", want.String())
		d.has("other", "x")
		d.has("log", "\n")
	}
}

func TestEditsFromSeveralAgentsAtOnceAllLand(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, "line %d.\n", i)
	}
	d.put("n.txt", lines.String())
	done := make(chan *oneloop.ToolResult)
	for i := range 40 {
		go func() {
			edit := d.files.Child().Edit()
			input, _ := json.Marshal(d.edit("n.txt", fmt.Sprintf("line %d.", i), fmt.Sprintf("changed %d.", i)))
			r, err := edit.Run(t.Context(), &oneloop.ToolUse{ID: "x", Name: "Edit", Input: input}, func(oneloop.Event) {})
			if err != nil {
				r = oneloop.ErrorResult(err.Error())
			}
			done <- r
		}()
	}
	for range 40 {
		if r := <-done; r.IsError {
			t.Error(r.Text())
		}
	}
	d.has("n.txt", strings.ReplaceAll(lines.String(), "line", "changed"))
}

func TestModeAndLinksStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes on Windows")
	}
	for _, name := range []string{"Edit", "Write"} {
		d := sit(t, tool.FilesOptions{})
		modes := map[string]os.FileMode{"run.sh": 0o755, "secret": 0o600, "real.txt": 0o644, "ro.txt": 0o444, "hard": 0o644}
		for file, mode := range modes {
			d.put(file, "old "+file+"\n")
			if err := os.Chmod(filepath.Join(d.root, file), mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("real.txt", filepath.Join(d.root, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(filepath.Join(d.root, "hard"), filepath.Join(d.root, "hard2")); err != nil {
			t.Fatal(err)
		}
		change := func(file string) any {
			d.works("Read", fields{"file_path": file})
			if name == "Edit" {
				return d.edit(file, "old", "new")
			}
			return fields{"file_path": file, "content": "new\n"}
		}
		for _, file := range []string{"run.sh", "secret", "link"} {
			d.works(name, change(file))
		}
		d.fails(name, change("ro.txt"), "read-only")
		d.works("Read", fields{"file_path": "hard2"})
		if got := d.works(name, change("hard")); !strings.Contains(got, "written in place") {
			t.Errorf("it does not say that it wrote in place: %s", got)
		}
		d.works("Edit", d.edit("hard2", "new", "newer")) // the other name is no news
		d.works("Edit", d.edit("hard", "newer", "newest"))
		d.has("ro.txt", "old ro.txt\n")
		if link, err := os.Readlink(filepath.Join(d.root, "link")); link != "real.txt" || err != nil {
			t.Errorf("the link is %q, %v", link, err)
		}
		if raw, _ := os.ReadFile(filepath.Join(d.root, "real.txt")); !bytes.HasPrefix(raw, []byte("new")) {
			t.Errorf("behind the link there is %q", raw)
		}
		for file, mode := range modes {
			if info, err := os.Stat(filepath.Join(d.root, file)); err != nil || info.Mode() != mode {
				t.Errorf("%s has %v, want %v (%v)", file, info.Mode(), mode, err)
			}
		}
		if list, err := os.ReadDir(d.root); err != nil || len(list) != len(modes)+2 {
			t.Errorf("the folder holds %v, %v", list, err)
		}
	}
}

func TestWhatLeadsOutOfTheWorkspaceIsRefusedWithItsPath(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	out := t.TempDir()
	victim := filepath.Join(out, "victim")
	if err := os.WriteFile(victim, []byte("original"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(d.root, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(filepath.Join(out, "later"), filepath.Join(d.root, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link/victim", "link/x", "dangling", victim, "../x"} {
		for _, call := range []struct {
			tool string
			in   any
		}{{"Write", fields{"file_path": name, "content": "x"}}, {"Edit", d.edit(name, "original", "x")}, {"Read", fields{"file_path": name}}} {
			said := d.fails(call.tool, call.in, "outside the workspace", "--add-dir")
			if name != "../x" && !strings.Contains(said, out) {
				t.Errorf("%s %s does not name where it leads: %s", call.tool, name, said)
			}
		}
	}
	if got, err := os.ReadFile(victim); string(got) != "original" || err != nil {
		t.Errorf("outside there is %q, %v", got, err)
	}
	if list, _ := os.ReadDir(out); len(list) != 1 {
		t.Errorf("outside there are %v", list)
	}
}

func TestToolsTellTheRealPathTheyTouch(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	for _, dir := range []string{".git", "sub"} {
		if err := os.Mkdir(filepath.Join(d.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.put(".git/config", "[core]\n")
	if err := os.Symlink("../.git/config", filepath.Join(d.root, "sub/innocent")); err != nil {
		t.Skip(err)
	}
	want := filepath.Join(d.root, ".git/config")
	for _, name := range []string{".git/config", "./.git/./config", ".git//config", "sub/../.git/config", "sub/innocent", want} {
		for _, x := range d.box.Tools[:3] {
			input, _ := json.Marshal(fields{"file_path": name})
			got, err := x.Touches(&oneloop.ToolUse{Name: x.Name, Input: input})
			kind := oneloop.TouchWrite
			if x.Name == "Read" {
				kind = oneloop.TouchRead
			}
			if err != nil || len(got) != 1 || got[0] != (oneloop.Touch{Kind: kind, Name: want}) {
				t.Errorf("%s of %s touches %v, %v", x.Name, name, got, err)
			}
		}
	}
	input := json.RawMessage(`{"file_path":"../x"}`)
	if got, err := d.box.Tools[0].Touches(&oneloop.ToolUse{Input: input}); err == nil {
		t.Errorf("outside it touches %v", got)
	}
	d.fails("Edit", d.edit("sub/innocent", "core", "x"), "link to the protected file", want)
	d.has(".git/config", "[core]\n")
	d.works("Edit", d.edit(".git/config", "core", "x")) // asking is the policy's
}

func TestTheSessionsDiffIsFromBeforeTheFirstChange(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("a", "1\n2\n3\n")
	d.put("b", "same\n")
	d.put("c", "by command\n")
	d.put("gone", "x\n")
	d.works("Edit", d.edit("a", "1", "one"))
	d.works("Edit", d.edit("a", "3", "three"))
	d.works("Edit", d.edit("b", "same", "other"))
	d.works("Edit", d.edit("b", "other", "same"))
	d.works("Write", fields{"file_path": "new", "content": "n\n"})
	d.works("Write", fields{"file_path": "temporary", "content": "n\n"})
	for _, name := range []string{"c", "gone"} {
		d.works("Read", fields{"file_path": name})
	}
	d.works("Edit", d.edit("gone", "x", "y"))
	d.works("Bash", fields{"command": "echo changed > c; rm temporary gone"})
	want := []tool.FileDiff{
		{Path: "a", Diff: "@@ -1,3 +1,3 @@\n-1\n+one\n 2\n-3\n+three\n", Added: 2, Removed: 2},
		{Path: "c", Diff: "@@ -1 +1 @@\n-by command\n+changed\n", Added: 1, Removed: 1},
		{Path: "gone", Diff: "@@ -1 +0,0 @@\n-x\n", Removed: 1, Deleted: true},
		{Path: "new", Diff: "@@ -0,0 +1 @@\n+n\n", Added: 1, Created: true},
	}
	if diff := cmp.Diff(want, d.files.Diff()); diff != "" {
		t.Error(diff)
	}
}

func TestOriginalsThatAreTooMuchForMemoryAreKeptWithoutAName(t *testing.T) {
	dir := t.TempDir()
	d := sit(t, tool.FilesOptions{SpillDir: dir})
	big := strings.Repeat("0123456789abcde\n", 12<<20/16)
	for i := range 3 {
		name := fmt.Sprint("f", i)
		d.put(name, fmt.Sprint("first ", i, "\n")+big)
		d.works("Edit", d.edit(name, fmt.Sprint("first ", i), "changed"))
	}
	if list, err := os.ReadDir(dir); runtime.GOOS == "linux" && (err != nil || len(list) != 0) {
		t.Errorf("the folder holds %v, %v", list, err)
	}
	diff := d.files.Diff()
	for i, x := range diff {
		if want := fmt.Sprintf("@@ -1,4 +1,4 @@\n-first %d\n+changed\n", i); !strings.HasPrefix(x.Diff, want) || x.Removed != 1 {
			t.Errorf("%s: %+v", x.Path, x)
		}
	}
	if len(diff) != 3 {
		t.Errorf("%d files", len(diff))
	}
}

func TestTheSeriesNamesAreUnderstood(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.works("write_file", fields{"path": "f", "content": "a\nb\n"})
	d.works("edit_file", fields{"path": "f", "old_text": "a", "new_text": "<&>"})
	if got := d.works("read_file", fields{"path": "f", "limit": 1}); !strings.HasPrefix(got, "1\t<&>\n[lines 1 to 1 of 2") {
		t.Errorf("it reads %q", got)
	}
	d.fails("read_file", fields{"path": "f", "file_path": "g"}, "both path and file_path")
	d.fails("read_file", fields{"name": "f"}, "name")
}

func TestDescriptionsAreShort(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	for _, x := range d.box.Tools[:3] {
		if n := len(x.Name) + len(x.Description) + len(x.Schema); n > 550 {
			t.Errorf("%s takes %d bytes", x.Name, n)
		} else {
			t.Logf("%s takes %d bytes", x.Name, n)
		}
		if x.Effect != nil && x.Name == "Edit" || x.Parallel != (x.Name == "Read") {
			t.Errorf("%s: effect %v, parallel %v", x.Name, x.Effect != nil, x.Parallel)
		}
		if !json.Valid(x.Schema) {
			t.Errorf("%s: %s", x.Name, x.Schema)
		}
	}
}

func TestAnEditThroughTheToolTouchesNoOtherByte(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "", "b c", "中文", "\t}", "é", "$1"}), 1, 12).Draw(r, "lines")
		ends := rapid.SliceOfN(rapid.SampledFrom([]string{"\n", "\r\n"}), len(lines), len(lines)).Draw(r, "ends")
		at := rapid.IntRange(0, len(lines)-1).Draw(r, "at")
		mark := rapid.SampledFrom([]string{"", "\xef\xbb\xbf"}).Draw(r, "mark")
		now := rapid.SampledFrom([]string{"", "x", "x\ny", "中\n", "$&\\"}).Draw(r, "new")
		n++
		var before, after strings.Builder
		before.WriteString(mark)
		for i, l := range lines {
			if i == at {
				before.WriteString(l)
				after.WriteString(ends[i])
				continue
			}
			b := &before
			if i > at {
				b = &after
			}
			b.WriteString(l + ends[i])
		}
		name := fmt.Sprint("f", n)
		d.put(name, before.String()+"UNIQUE"+after.String())
		d.works("Edit", d.edit(name, "UNIQUE", now))
		got, err := os.ReadFile(filepath.Join(d.root, name))
		if err != nil {
			r.Fatal(err)
		}
		if !bytes.HasPrefix(got, []byte(before.String())) || !bytes.HasSuffix(got, []byte(after.String())) {
			r.Fatalf("%q became %q", before.String()+"UNIQUE"+after.String(), got)
		}
		middle := string(got[before.Len() : len(got)-after.Len()])
		if strings.ReplaceAll(middle, "\r\n", "\n") != now {
			r.Fatalf("it wrote %q for %q", middle, now)
		}
	})
}
