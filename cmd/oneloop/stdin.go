package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"oneloop/internal/tui"
)

// How long stdin is waited for when there is a task already: some programs
// leave a pipe open that nobody writes to.
const (
	firstByte = 2 * time.Second // until it says something
	nextByte  = 5 * time.Second // between two pieces
)

// promptLimit is the longest task in bytes. It is more than the largest
// window takes; one byte more gets an answer here instead of from the API.
const promptLimit = 8 << 20

// piped reports whether stdin is something to read a task from: a pipe, a
// socket or a file, and no terminal or device.
func piped(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	m := info.Mode()
	return m.IsRegular() || m&(os.ModeNamedPipe|os.ModeSocket) != 0
}

// task reports whether there is one task, and not a conversation.
func (o *options) task(stdin *os.File) bool {
	return o.given || o.force || o.output != "text" || piped(stdin) || !tui.IsTerminal(stdin)
}

// prompt is the task: the words of the command line and what is piped in.
func (p *program) prompt() (text, notice string, err error) {
	text = spelled(p.opts.prompt)
	if p.opts.given && strings.TrimSpace(text) == "" {
		return "", "", usagef("%s", p.words.EmptyPrompt)
	}
	if piped(p.stdin) {
		wait := nextByte
		if !p.opts.given {
			wait = 0 // the pipe is the task, however long it takes once it has begun
		}
		input, cut, err := readInput(p.stdin, firstByte, wait)
		if err != nil {
			return "", "", &codeError{exitUsage, fmt.Errorf(p.words.BadFile, "stdin", err)}
		}
		switch {
		case cut && len(input) == 0:
			notice = p.words.StdinNothing
		case cut:
			notice = fmt.Sprintf(p.words.StdinSilent, len(input))
		}
		text = withInput(text, input)
	}
	switch {
	case strings.TrimSpace(text) == "" && !p.opts.given && !p.opts.force:
		return "", "", usagef("%s", p.words.NoTerminal)
	case strings.TrimSpace(text) == "":
		return "", "", usagef("%s", p.words.EmptyPrompt)
	}
	return text, notice, p.checkPrompt(text)
}

// checkPrompt refuses what no API takes.
func (p *program) checkPrompt(text string) error {
	switch {
	case len(text) > promptLimit:
		return usagef(p.words.PromptTooBig, megabytes(promptLimit))
	case strings.ContainsRune(text, 0):
		return usagef("%s", p.words.PromptNUL)
	case !utf8.ValidString(text):
		return usagef("%s", p.words.PromptUTF8)
	}
	return nil
}

func megabytes(n int) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// readInput reads r to its end. It gives up when nothing comes for a while:
// first before the first byte, then between two pieces; 0 waits for ever once
// something came. cut says that it gave up.
func readInput(r *os.File, first, next time.Duration) (input []byte, cut bool, err error) {
	type piece struct {
		data []byte
		err  error
	}
	pieces := make(chan piece)
	// The reader may hang in its last read until the program ends: a read of
	// a pipe cannot be taken back everywhere.
	go func() {
		for {
			buf := make([]byte, 64<<10)
			n, err := r.Read(buf)
			pieces <- piece{buf[:n], err}
			if err != nil {
				return
			}
		}
	}()
	var all bytes.Buffer
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case p := <-pieces:
			all.Write(p.data)
			if p.err == io.EOF || all.Len() > promptLimit {
				return all.Bytes(), false, nil
			}
			if p.err != nil {
				return nil, false, p.err
			}
			timer.Stop()
			if next > 0 {
				timer.Reset(next)
			}
		case <-timer.C:
			return all.Bytes(), true, nil
		}
	}
}
