//go:build linux

package main

import "testing"

func TestTabCompletesCommandsAndPathsOfMentions(t *testing.T) {
	p := newProduct(t, say("one done"))
	p.puts("source/main.go", "package main\n")
	p.puts("source/a b.txt", "spaces\n")
	p.puts("资料/说明.md", "第一行\n")
	p.puts(".hidden", "")
	c := p.converse()
	c.types("/res")
	c.sees("/res")
	c.types("\t")
	c.sees("/resume ")
	c.types("\x15/co")
	c.sees("/co")
	c.types("\t")
	c.sees("/compact  /context  /cost")
	c.types("\x15see @")
	c.sees("see @")
	c.types("\t")
	c.sees("source/  资料/")
	c.types("s")
	c.sees("@s")
	c.types("\t")
	c.sees("@source/")
	c.types("a")
	c.sees("@source/a")
	c.types("\t")
	c.sees(`@"source/a b.txt" `)
	c.types("和@资")
	c.sees("和@资")
	c.types("\t")
	c.sees("@资料/")
	c.types("\t")
	c.sees("@资料/说明.md")
	c.types("\r")
	c.sees("attached: source/a b.txt, 资料/说明.md", "one done")
	if got := p.request(1).Messages[0].Content[0].Text; got != `see @"source/a b.txt" 和@资料/说明.md ` {
		t.Errorf("sent was %q", got)
	}
	c.types("\x04")
	c.ends()
	c.mu.Lock()
	defer c.mu.Unlock()
	lacks(t, string(c.all), ".hidden")
}

func TestNoMentionIsCompletedInsideOfAWord(t *testing.T) {
	for text, want := range map[string]string{
		"@": "@", "see @a/b": "@a/b", "me@x": "", "@a b": "", `@"a b`: `@"a b`, `@"a b" c`: "", "看@文": "@文", "": "", "@a\n": "", "(@x": "@x",
	} {
		at, begun := lastMention(text)
		got := ""
		if at >= 0 {
			got = text[at:]
		}
		if got != want || at < 0 && begun != "" {
			t.Errorf("%q: %q %q, want %q", text, got, begun, want)
		}
	}
}
