package session

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"oneloop"
)

// queue keeps what waits to be said. What was said is no longer kept as waiting
// once its message is an entry, so that at every moment it is the one or the
// other.
func (l *Log) queue(list []Waiting) {
	q := queued{Items: []queuedItem{}}
	for _, w := range list {
		item := queuedItem{When: w.When}
		for _, b := range w.Blocks {
			text, err := oneloop.AppendBlock(nil, b)
			if err != nil {
				continue // it has no form in JSON and cannot be sent either
			}
			item.Blocks = append(item.Blocks, text)
		}
		q.Items = append(q.Items, item)
	}
	l.mu.Lock()
	if l.begin() == nil {
		l.put(kindQueue, q)
		l.view.queue = q.Items
	}
	l.mu.Unlock()
	l.tell()
}

// Resume puts what waited in the session that l keeps, and was not said, in
// front, and has l keep from now on what waits here.
func (x *Inbox) Resume(l *Log) {
	list := l.Undelivered()
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range list {
		x.id++
		list[i].ID = x.id
	}
	x.items = append(list, x.items...)
	x.keep = l.queue
}

// Undelivered is what waited in the [Inbox] of the session and was not said.
func (l *Log) Undelivered() []Waiting {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Waiting
	for _, item := range l.view.queue {
		w := Waiting{When: item.When}
		for _, text := range item.Blocks {
			if b, err := oneloop.DecodeBlock(text); err == nil {
				w.Blocks = append(w.Blocks, b)
			}
		}
		list = append(list, w)
	}
	return list
}

// said takes out of the queue what m says.
func (v *view) said(m *oneloop.Message) {
	if len(v.queue) == 0 || m.Role != oneloop.User || m.Meta.Source != "" && m.Meta.Source != fromInbox {
		return
	}
	var texts [][]byte
	for _, b := range m.Blocks {
		if text, err := oneloop.AppendBlock(nil, b); err == nil {
			texts = append(texts, text)
		}
	}
	v.queue = slices.DeleteFunc(slices.Clone(v.queue), func(item queuedItem) bool {
		return !slices.ContainsFunc(item.Blocks, func(block json.RawMessage) bool {
			return !slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Equal(text, block) })
		})
	})
}

// lines are the texts in blocks, each on lines of its own.
func lines(blocks []oneloop.Block) string {
	var list []string
	for _, b := range blocks {
		if t, ok := b.(*oneloop.Text); ok {
			list = append(list, t.Text)
		}
	}
	return strings.Join(list, "\n")
}
