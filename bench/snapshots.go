package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"oneloop/workspace"
)

const (
	limitSnapshots = 1.1 // to the same without files
	limitSeal      = 2   // to git status
	limitBegin     = 4   // to git status
)

// snapshots measures what it costs that files can be brought back: between the
// commands of a turn, and before the first of them.
func (b *bench) snapshots(ctx context.Context) (figures []figure, err error) {
	const files = 5000
	writing := script{Turns: 25, Command: func(turn int) string { return fmt.Sprintf("echo %d >> out", turn) }}
	full := writing
	full.Work = func(dir string) error { return repository(ctx, dir, files) }
	empty := writing
	empty.Work = func(dir string) error { return repository(ctx, dir, 0) }
	var with, without []run
	for range max(3, b.size.Starts/4) {
		w, err := limited(ctx, b.ours, empty)
		if err != nil {
			return nil, err
		}
		f, err := limited(ctx, b.ours, full)
		if err != nil {
			return nil, err
		}
		with, without = append(with, f), append(without, w)
	}
	figures = append(figures, times(fmt.Sprintf("reply to next request, commands that write in a repository of %d files, turn 20, against one of none", files),
		gap(with, 20), gap(without, 20), limitSnapshots))
	seal, err := b.seal(ctx, files)
	return append(figures, seal...), err
}

// seal measures what the first command of a turn waits for.
func (b *bench) seal(ctx context.Context, files int) ([]figure, error) {
	dir, err := os.MkdirTemp("", "bench-snapshots-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, err
	}
	if err := repository(ctx, work, files); err != nil {
		return nil, err
	}
	ws, err := workspace.Local(work, workspace.LocalOptions{})
	if err != nil {
		return nil, err
	}
	turn, made := int64(0), 0
	at := func() int64 { return turn }
	fresh := func() (*workspace.Snapshots, error) {
		made++
		return workspace.NewSnapshots(ws, workspace.SnapshotOptions{Dir: filepath.Join(dir, fmt.Sprint("files", made)), At: at})
	}
	status := running(ctx, work, "git", "status", "--porcelain")
	snaps, err := fresh()
	if err != nil {
		return nil, err
	}
	defer snaps.Close()
	later, theirs, err := race(b.size.Searches, func() error {
		turn++
		snaps.Before(ctx)()
		return nil
	}, status)
	if err != nil {
		return nil, err
	}
	first, also, err := race(b.size.Searches, func() error {
		turn++
		one, err := fresh()
		if err != nil {
			return err
		}
		one.Before(ctx)()
		return one.Close()
	}, status)
	if err != nil {
		return nil, err
	}
	return []figure{
		times(fmt.Sprintf("before the first command of a turn that may write, %d files, against git status", files), later, theirs, limitSeal),
		times("the same at the beginning of a session, with its end", first, also, limitBegin),
	}, nil
}

// repository makes files in a folder, and one commit of them.
func repository(ctx context.Context, dir string, files int) error {
	if err := grow(dir, files); err != nil {
		return fmt.Errorf("make the tree: %w", err)
	}
	for _, args := range []string{"init -q", "add -A", "-c user.name=a -c user.email=a@b commit -q -m all"} {
		if err := running(ctx, dir, "git", strings.Fields(args)...)(); err != nil {
			return err
		}
	}
	return nil
}
