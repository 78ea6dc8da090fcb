package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"oneloop"
)

// Entry is one entry of a log, for those who read it. Kind and Data are as
// docs/sessions.md has them; what is shared with an [oneloop.Event] has the
// event's kind and form.
type Entry struct {
	N       int64
	Time    time.Time
	Kind    string
	Data    json.RawMessage
	Message *oneloop.Message // of the kind "message"
}

// Read hands over the entries of the log at path in order, those of the
// sessions it was forked from in their places. Numbers that are missing
// between two of them are what is damaged, or what could not be read. An error
// of do ends it.
func Read(path string, do func(Entry) error) (Head, []Damage, error) {
	f, err := os.Open(path)
	if err != nil {
		return Head{}, nil, err
	}
	defer f.Close()
	var head *Head
	read := false // an entry
	damage, err := walk(filepath.Dir(path), f, 0, nil, func(e entry) error {
		if e.kind == kindHead && head == nil {
			if err := decoded(e.data, func(h Head) { head = &h }); err != nil {
				return &unusable{e.kind, err, false}
			}
			if err := head.readable(); err != nil {
				return err
			}
		}
		read = true
		return do(Entry{N: e.n, Time: e.at, Kind: e.kind, Data: e.data, Message: e.message})
	})
	if err == nil && head == nil {
		if read || len(damage) < 2 { // the first entry is damaged, or its writer was killed before it was whole
			return Head{Version: Format, ID: idOf(path)}, damage, nil
		}
		err = errNoHead
	}
	if err != nil {
		return Head{}, damage, fmt.Errorf("read session %s: %w", idOf(path), err)
	}
	own := headOf(path)
	if own.ID == "" {
		own = *head
	}
	return own, damage, nil
}

// Errors of a first entry.
var (
	errNoHead   = errors.New("it has no entry, so it is no log of a session")
	errNoParent = errors.New("it does not say which session it goes on with, whose entries are missing")
)

// readable is nil for a log that this program can read.
func (h Head) readable() error {
	if h.Version > Format {
		return fmt.Errorf("it was written by a newer oneloop (format %d, this one reads up to %d); use that one", h.Version, Format)
	}
	return nil
}

// Fold is what entries of a log come to, taken one after the other.
type Fold struct{ v view }

// Take adds an entry. After an error the entry counts for nothing.
func (f *Fold) Take(e Entry) error {
	f.v.keep = true
	return f.v.take(entry{n: e.N, at: e.Time, kind: e.Kind, data: e.Data, message: e.Message})
}

// Request is what is sent next. It shares the messages of the entries.
func (f *Fold) Request() *oneloop.Request {
	s, msgs := f.v.setup, f.v.msgs
	return &oneloop.Request{System: s.System, Messages: msgs[:len(msgs):len(msgs)], Tools: s.Tools, Params: s.Params}
}

// Setup is what is sent beside the messages, and to which model.
func (f *Fold) Setup() Setup { return f.v.setup }

// Prompts are the places the conversation can go back to.
func (f *Fold) Prompts() []Prompt { return f.v.prompts }

// Playback is a transcript of a conversation that was had before. What was
// made shorter in it, and what was left out for an API that refused it, is in
// it already: a session does neither again.
type Playback interface {
	oneloop.Transcript
	// GoesOn reports whether the turn went on after a reply that was cut at the
	// end of the model's window.
	GoesOn() bool
}
