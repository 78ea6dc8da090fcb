package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"oneloop"
	"oneloop/tool"
	"oneloop/workspace"
)

const (
	limitGlob   = 2   // to rg --files
	limitSearch = 4   // to rg, without it
	limitRg     = 1.5 // to rg, with it
	limitEdit   = 3   // to reading and writing the file
	limitLaunch = 5   // to fork and exec
	limitBwrap  = 1   // to bwrap --unshare-all
)

// race times two things by turns, once unmeasured, and gives the medians.
func race(n int, ours, against func() error) (o, a time.Duration, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as the program has it
	var mine, theirs []time.Duration
	for i := range n + 1 {
		for _, one := range []struct {
			run   func() error
			times *[]time.Duration
		}{{against, &theirs}, {ours, &mine}} {
			began := time.Now()
			if err := one.run(); err != nil {
				return 0, 0, err
			}
			if i > 0 {
				*one.times = append(*one.times, time.Since(began))
			}
		}
	}
	same := func(d time.Duration) time.Duration { return d }
	return median(mine, same), median(theirs, same), nil
}

// calling is a call of a tool that has to succeed.
func calling(ctx context.Context, t oneloop.Tool, input map[string]any) func() error {
	return func() error {
		raw, err := json.Marshal(input)
		if err != nil {
			return err
		}
		r, err := t.Run(ctx, &oneloop.ToolUse{ID: "toolu_bench", Name: t.Name, Input: raw}, func(oneloop.Event) {})
		if err == nil && r.IsError {
			err = fmt.Errorf("%s", r.Text())
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", t.Name, raw, err)
		}
		return nil
	}
}

// running is a command that has to succeed.
func running(ctx context.Context, dir, name string, args ...string) func() error {
	return func() error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run %s: %w\n%s", cmd, err, out)
		}
		return nil
	}
}

// needle is a word that one file in two hundred holds.
const needle = "needleInHay"

// search measures Glob and Grep in a tree of many small files.
func (b *bench) search(ctx context.Context) (figures []figure, err error) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.miss("Glob and Grep: rg is not installed (package ripgrep)")
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "bench-tree-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := grow(dir, b.size.Files); err != nil {
		return nil, fmt.Errorf("make the tree: %w", err)
	}
	ws, err := workspace.Local(dir, workspace.LocalOptions{})
	if err != nil {
		return nil, err
	}
	glob, with, without := tool.Glob(ws, tool.GlobOptions{}), tool.Grep(ws, tool.GrepOptions{}), tool.Grep(ws, tool.GrepOptions{Plain: true})
	list, find := []string{"--no-config", "--files", "./"}, []string{"--no-config", "-l", needle, "./"}
	for _, one := range []struct {
		name    string
		tool    oneloop.Tool
		pattern string
		rg      []string
		limit   float64
	}{
		{"Glob **/* against rg --files", glob, "**/*", list, limitGlob},
		{"Glob **/*.go against rg --files", glob, "**/*.go", list, limitGlob},
		{"Grep of a word without rg against rg", without, needle, find, limitSearch},
		{"Grep of a word with rg against rg", with, needle, find, limitRg},
	} {
		ours, theirs, err := race(b.size.Searches, calling(ctx, one.tool, map[string]any{"pattern": one.pattern}), running(ctx, dir, rg, one.rg...))
		if err != nil {
			return figures, err
		}
		figures = append(figures, times(fmt.Sprintf("%d files: %s", b.size.Files, one.name), ours, theirs, one.limit))
	}
	return figures, nil
}

// grow makes files of a few lines, 25 to a folder, every fifth of which is
// ignored. It makes the same ones each time.
func grow(dir string, files int) error {
	const each = 25
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func return if else for range var type struct string int error nil package import the a of to and in is it that was")
	var text strings.Builder
	for range 4000 {
		for range 1 + r.IntN(10) {
			text.WriteString(words[r.IntN(len(words))] + " ")
		}
		text.WriteString("\n")
	}
	for d := range files / each {
		sub := filepath.Join(dir, fmt.Sprint("p", d%10), fmt.Sprint("q", d%100), fmt.Sprint("r", d%1000), fmt.Sprint("s", d))
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return err
		}
		for f := range each {
			from := r.IntN(text.Len() - 5000)
			body := text.String()[from : from+500+r.IntN(4000)]
			if (d*each+f)%200 == 0 {
				body += "the " + needle + " is here\n"
			}
			name := fmt.Sprintf("file%d.%s", f, []string{"go", "ts", "md", "txt", "log"}[f%5])
			if err := os.WriteFile(filepath.Join(sub, name), []byte(body), 0o600); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n*.o\nnode_modules/\n/build\n.DS_Store\n*.py[cod]\n*~\n"), 0o600)
}

// edit measures a small change of a large file.
func (b *bench) edit(ctx context.Context) ([]figure, error) {
	const size = 10_000_000
	dir, err := os.MkdirTemp("", "bench-edit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ws, err := workspace.Local(dir, workspace.LocalOptions{})
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	lines := 0
	for ; text.Len() < size; lines++ {
		fmt.Fprintf(&text, "\tresult = append(result, transform(item)) // line %07d\n", lines)
	}
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	files := tool.NewFiles(ws, tool.FilesOptions{SpillDir: dir})
	defer files.Close()
	edit, turn := files.Edit(), 0
	old, now := fmt.Sprintf("line %07d", lines/2), fmt.Sprintf("LINE %07d", lines/2)
	ours, plain, err := race(b.size.Edits, func() error {
		if turn++; turn > 1 {
			old, now = now, old
		}
		return calling(ctx, edit, map[string]any{"file_path": name, "old_string": old, "new_string": now})()
	}, func() error {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "copy"), data, 0o600)
	})
	if err != nil {
		return nil, err
	}
	return []figure{times("Edit of a 10 MB file against reading and writing it", ours, plain, limitEdit)}, nil
}

// sandbox measures what confining a command costs.
func (b *bench) sandbox(ctx context.Context) (figures []figure, err error) {
	dir, err := os.MkdirTemp("", "bench-sandbox-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, err
	}
	ws, err := workspace.Sandboxed(work, workspace.SandboxOptions{Backend: "ns", State: filepath.Join(dir, "state")})
	if err == nil {
		defer ws.Close()
		err = ws.Prepare()
	}
	if err != nil {
		b.miss(fmt.Sprintf("a command in the sandbox: %v", err))
		return nil, nil
	}
	ours := calling(ctx, tool.Bash(ws, tool.BashOptions{SpillDir: dir}), map[string]any{"command": "true"})
	o, p, err := race(b.size.Commands, ours, running(ctx, work, "bash", "-c", "true"))
	if err != nil {
		return nil, err
	}
	figures = append(figures, times("true in the sandbox against fork and exec", o, p, limitLaunch))
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		b.miss("the sandbox against another one: bwrap is not installed (package bubblewrap)")
		return figures, nil
	}
	theirs := running(ctx, work, bwrap, slices.Concat(strings.Fields("--unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp"),
		[]string{"--bind", work, work, "--chdir", work, "bash", "-c", "true"})...)
	if err := theirs(); err != nil {
		b.miss(fmt.Sprintf("the sandbox against another one: %v", err))
		return figures, nil
	}
	o, p, err = race(b.size.Commands, ours, theirs)
	if err != nil {
		return figures, err
	}
	return append(figures, times("true in the sandbox against bwrap --unshare-all", o, p, limitBwrap)), nil
}
