package tool_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/tool"
	"oneloop/workspace"
)

// attach answers as Attach does, but for files that are withheld.
func (d *desk) attach(name string, withheld ...string) (string, error) {
	d.Helper()
	input, err := json.Marshal(fields{"file_path": name})
	if err != nil {
		d.Fatal(err)
	}
	ctx := workspace.Withhold(d.Context(), func(path string) bool {
		for _, w := range withheld {
			if path == filepath.Join(d.root, w) {
				return true
			}
		}
		return false
	})
	r, err := d.files.Attach().Run(ctx, &oneloop.ToolUse{ID: "a", Name: "Read", Input: input}, func(oneloop.Event) {})
	if err != nil {
		return "", err
	}
	return r.Text(), nil
}

func TestAttachShowsAFileAsReadDoesAndAFolderByItsNames(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("f", "one\ntwo\n")
	for _, dir := range []string{"dir/资料", "many"} {
		if err := os.MkdirAll(filepath.Join(d.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.put("dir/a b", "")
	d.put("dir/资料/x", "")
	d.put("dir/key", "")
	d.put("dir/two\nlines", "")
	for i := range 203 {
		d.put(fmt.Sprintf("many/%03d", i), "")
	}
	for name, want := range map[string]string{
		"f": "1\tone\n2\ttwo", "dir": "a b\n\"two\\nlines\"\n资料/", filepath.Join(d.root, "dir/资料/"): "x",
	} {
		if got, err := d.attach(name, "dir/key"); err != nil || got != want {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(want, got))
		}
	}
	if got, err := d.attach("many"); err != nil || !strings.HasSuffix(got, "\n199\n[200 of 203 names; Glob finds more]") {
		t.Errorf("a large folder: %v, %q", err, got)
	}
	if got, err := d.attach("dir/资料", "dir/资料/x"); err != nil || !strings.Contains(got, "is an empty folder") {
		t.Errorf("a folder of withheld files: %v, %q", err, got)
	}
	if _, err := d.attach("/"); err == nil || !strings.Contains(err.Error(), "--add-dir") {
		t.Errorf("a folder outside: %v", err)
	}
}

func TestWhatWasAttachedCountsAsRead(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("f", "one\ntwo\n")
	d.fails("Write", fields{"file_path": "f", "content": "x"}, "")
	if _, err := d.attach("f"); err != nil {
		t.Fatal(err)
	}
	d.works("Write", fields{"file_path": "f", "content": "x"})
}
