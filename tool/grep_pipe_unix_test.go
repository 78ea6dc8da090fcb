//go:build unix

package tool_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"oneloop/tool"
)

// rg waits for the other side of an ignore file that is a pipe.
func TestGrepFindsWhatIsBesideAnIgnoreFileThatIsAPipe(t *testing.T) {
	w := plant(t, "a=needle\n", "sub/b=needle\n")
	for _, name := range []string{".gitignore", "sub/.gitignore"} {
		if err := syscall.Mkfifo(filepath.Join(w.Describe().Root, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	both(t, func(t *testing.T, opts tool.GrepOptions) {
		if opts.Timeout = time.Minute; !opts.Plain {
			opts.Timeout = 6 * time.Second // a sixth of which is waited
		}
		if got := grep(t, w, opts, in{"pattern": "needle", "output_mode": "count"}); got != "a:1\nsub/b:1" {
			t.Error(got)
		}
	})
}
