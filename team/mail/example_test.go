package mail_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"oneloop/team/mail"
)

func Example() {
	dir, err := os.MkdirTemp("", "project-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	post, err := mail.Open(filepath.Join(dir, "mail"), mail.Options{Roster: mail.Names{"lead", "reviewer"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer post.Close()

	box, err := post.Mailbox("reviewer", mail.Reader{Session: "a session"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer box.Close()

	if _, err := post.Send(ctx, "reviewer", mail.Message{From: "lead", Text: "Look at the parser."}); err != nil {
		fmt.Println(err)
	}
	if _, err := post.Send(ctx, "revewer", mail.Message{From: "lead", Text: "And at its tests."}); err != nil {
		fmt.Println(err)
	}

	if err := box.Wait(ctx); err != nil {
		fmt.Println(err)
	}
	messages, err := box.Take()
	for _, m := range messages { // each m.Block() goes into the conversation
		fmt.Printf("%s to %s: %s\n", m.From, m.To, m.Text)
	}
	if err == nil {
		err = box.Ack(ctx, messages...) // once it is safe there
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// there is no agent named "revewer", so nothing was sent. There are: lead, reviewer
	// lead to reviewer: Look at the parser.
}
