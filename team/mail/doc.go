// Package mail is how the agents of one project write to each other, whether
// they run in one process or in several.
//
// Each agent has a mailbox: a file of JSON lines in a folder that all of them
// share ([Post]). Sending appends a line, and so does reading: nothing is taken
// out of the file while somebody may be writing to it, so no message is lost
// between the two. A message has an id, which the writer gives it under the lock
// of the file, and which is larger than those of all messages before it.
//
// # Exactly once
//
// A message is there until its reader acknowledges it, which it does once it has
// it in a place of its own that survives a crash, the log of its session:
//
//	for {
//		if err := box.Wait(ctx); err != nil {
//			return err
//		}
//		got, err := box.Take()
//		… each m.Block() goes into the conversation …
//		err = box.Ack(ctx, got...)
//	}
//
// Who crashes between the two gets the message again. It knows by the ids in its
// log what it has ([Seen]) and says so when it opens its mailbox; such messages
// are acknowledged and not delivered.
//
// # Bounds
//
// Agents write as long as they are answered. [Limits] bound how long a message
// is, how many wait, and how many one agent sends to another in a minute and in
// an hour; they are kept in the mailbox, so that a new process begins with what
// the one before has used up. Beyond them a message is refused with an error
// that says what there was and when the next one may be sent; nothing is dropped
// in silence.
//
// # Who wrote it
//
// From is set by the program that runs an agent, never by its model, and what a
// model reads as one message ([Message.Block]) cannot be made by the text of
// another.
package mail
