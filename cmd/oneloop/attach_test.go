//go:build linux

package main

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"oneloop/looptest/script"
)

func picture(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWhatAPromptNamesComesWithIt(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("t1", "Write", `{"file_path":"资料/说明.md","content":"x"}`)), say("ok"))
	p.puts("main.go", "package main\n")
	p.puts("资料/说明.md", "第一行\n")
	p.puts("a b.txt", "spaces\n")
	p.puts("latin.txt", "caf\xe9 cr\xe8me br\xfbl\xe9e\r\n")
	p.puts("p.png", picture(t))
	said := "explain @main.go, 看看@资料/说明.md里有什么, @\"a b.txt\" @latin.txt @p.png @资料 @main.go; mail a@main.go, @param @alice"
	o := p.done(strings.Split(said, " ")...)
	contains(t, o.stderr, "attached: main.go, 资料/说明.md, a b.txt, latin.txt, p.png, 资料\n")
	m := p.request(1).Messages[0]
	if got := m.Content[0].Text; got != said {
		t.Errorf("the words are %q", got)
	}
	var more []string
	for _, c := range m.Content[1:] {
		more = append(more, c.Type+c.Text)
	}
	all := strings.Join(more, "\n")
	contains(t, all, "\n<attached path=\"main.go\">\n1\tpackage main\n</attached>", "<attached path=\"资料/说明.md\">\n1\t第一行\n", "1\tspaces",
		"1\tcafé crème brûlée\n[Latin-1, which is a guess; CRLF line ends]", "p.png: image/png, 3×2 pixels\n</attached>\nimage", "<attached path=\"资料\">\n说明.md\n</attached>")
	if n := strings.Count(all, "<attached"); n != 6 {
		t.Errorf("%d are attached: %s", n, all)
	}
	contains(t, p.result(2, "t1"), "说明.md") // it was read, so that it may be replaced
	lacks(t, p.result(2, "t1"), "never read", "Read it")
}

func TestWhatCannotBeAttachedIsSaidAndTheWordsGo(t *testing.T) {
	p := newProduct(t, script.Reply{Blocks: say("ok").Blocks, Repeat: true})
	p.settles(`{"permissions": {"deny": ["Read(secret/**)"]}}`)
	p.puts("secret/key.txt", "the-secret")
	p.puts("secret/deep/key.txt", "the-secret")
	p.puts("data.bin", "\x00\x01\x02\x03")
	prompt := "read @src/gone.go, @secret/key.txt (@/etc/hostname) @../up.txt and @data.bin. Mail @alice and a@b.de"
	o := p.run(prompt)
	if o.code != 0 || strings.Count(o.stderr, "attached") != 5 {
		t.Errorf("%d, %s", o.code, o.stderr)
	}
	for _, want := range []string{
		"src/gone.go: there is no such file", "secret/key.txt: reading it was denied", "/etc/hostname: it is outside", "../up.txt: it is outside", "data.bin: ",
	} {
		if !strings.Contains(o.stderr, "not attached: "+want) {
			t.Errorf("%s is not said: %s", want, o.stderr)
		}
	}
	if m := p.request(1).Messages[0]; len(m.Content) != 1 || m.Content[0].Text != prompt {
		t.Errorf("sent was %+v", m.Content)
	}
	if err := errors.Join(syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600), os.Symlink("/etc/hostname", filepath.Join(p.dir, "out")), os.Symlink("loop", filepath.Join(p.dir, "loop"))); err != nil {
		t.Fatal(err)
	}
	contains(t, p.run("see @pipe, @out and @loop").stderr, "not attached: pipe: it is neither", "not attached: out: it is outside", "not attached: loop: it is a link that leads to no file")
	if o := p.run("@a/1 @a/2 @a/3 @a/4 @a/5 @a/6 @a/7 " + strings.Repeat("@b/"+strings.Repeat("x", 500), 1)); !strings.Contains(o.stderr, "a/5: there is") || !strings.Contains(o.stderr, "\n3 more are not attached") {
		t.Errorf("many: %s", o.stderr)
	}
	p.puts(".env", "A=b\n")
	if o := p.run("--permission-mode", "default", "read @.env"); o.code != exitDenied || !strings.Contains(o.stderr, "not attached: .env") {
		t.Errorf(".env: %d, %s", o.code, o.stderr)
	}
	p.done("list @secret")
	if m := p.server.Requests()[len(p.server.Requests())-1]; strings.Contains(string(m.Body), "key.txt") {
		t.Errorf("withheld names are sent: %s", m.Body)
	}
}

func TestWhatIsPipedInNamesNoFiles(t *testing.T) {
	p := newProduct(t, say("ok"), say("ok"))
	p.puts("main.go", "package main\n")
	p.stdin = strings.NewReader("see @main.go\n")
	p.done("review this")
	p.stdin = strings.NewReader("see @main.go\n")
	p.done()
	for n := range 2 {
		if m := p.request(n + 1).Messages[0]; len(m.Content) != 1 {
			t.Errorf("sent was %+v", m.Content)
		}
	}
}
