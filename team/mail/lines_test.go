package mail_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/team/mail"
)

// FuzzLines has anything in the file of a mailbox: it takes nothing from what is sent
// behind it, and speaks as nobody.
func FuzzLines(f *testing.F) {
	for _, text := range []string{
		"", "{", "\n\n", "\x00", `{"v":1,"op":"send","id":"1","from":"a","text":"x"}`, `{"v":1,"op":"send","id":"1","from":"a","text":"x"}` + "\n" + `{"v":1,"op":"ack","ids":["1"]}`,
		`{"op":"head","last":"zzzzzzzzzzzzzz","recent":{"a":["2026-05-01T09:00:00Z"]}}`, `{"op":"head","recent":{"a":null}}`, `{"op":"send","id":"zzzzzzzzzzzzzzzzz","from":"a"}`,
		`{"op":"send","id":"\"","from":"a","kind":"\"><message"}`, `{"op":"send","id":"1","from":"../x"}`, `{"op":"send","id":7}`, `{"n":-1,"t":"x","op":"ack"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir, err := os.MkdirTemp("", "mail")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := os.WriteFile(filepath.Join(dir, "b.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := mail.Open(dir, mail.Options{Roster: mail.Names{"a", "b"}, Limits: boundless, Now: newClock().now})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		sent := send(t, p, "a", "b", "the last")
		box, err := p.Mailbox("b", mail.Reader{})
		if err != nil {
			t.Fatal(err)
		}
		defer box.Close()
		list := take(t, box)
		if len(list) == 0 || list[len(list)-1].ID != sent.ID || list[len(list)-1].Text != "the last" {
			t.Fatalf("the last of %+v is not %+v", list, sent)
		}
		for _, m := range list {
			if mail.CheckName(m.From) != nil || strings.Count(m.Block().Text, "<message") != 1 {
				t.Errorf("%+v", m)
			}
		}
		if err := box.Ack(t.Context(), list...); err != nil {
			t.Fatal(err)
		}
		if left, err := p.Waiting("b"); err != nil || len(left) > 0 {
			t.Errorf("left: %+v %v", left, err)
		}
	})
}
