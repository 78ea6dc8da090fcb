package looptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest/script"
)

// Key is the credential that [TestModel] expects a model to send.
const Key = "looptest-key"

// Subject is an adapter that is tested.
type Subject struct {
	// Wire is the API that the adapter speaks, a fresh one for every server;
	// nil: the Messages API. Others are in package wires.
	Wire func() *script.Wire
	// Open makes the adapter for a server at url, with [Key] as its credential
	// and any model that thinks.
	Open func(t testing.TB, url string) oneloop.Model
	// Seen, when it is set, is shown every request that the adapter makes, at
	// the end of the test that it was made in.
	Seen func(t testing.TB, r script.Request)
}

// law is a part of the contract.
type law struct {
	name string
	run  func(*testing.T, bench)
}

// TestModel checks the contract of [oneloop.Model] on an adapter, against a
// server that is as strict as the API's own and errs as servers do.
func TestModel(t *testing.T, s Subject) {
	laws := append([]law{
		{"a text", aText},
		{"deltas add up to the message", deltasAddUp},
		{"a refusal", aRefusal},
		{"what came goes back unchanged", goesBack},
		{"reasoning is shown and goes back", reasoning},
		{"an image in a result arrives", imageResult},
		{"a request says what it is to say", wholeRequest},
		{"a conversation only grows", onlyGrows},
		{"events tell of the transport", transport},
		{"the shape of the address does not matter", addresses},
		{"usage is what the API counted", usage},
		{"usage may be missing or make no sense", oddUsage},
		{"any prefix of a stream is cut", prefixes},
		{"any splitting of a stream gives the same", splits},
		{"one very long line", longLine},
		{"a reply in one piece", onePiece},
		{"what is not the API's is told", notTheAPI},
		{"an interrupted reply keeps what is finished", interrupted},
		{"a context that ends before the reply gives its cause", notBegun},
		{"errors have a class", classes},
		{"an error says when to come back", comeBack},
		{"a failure voids what was streamed", voids},
	}, callLaws...)
	run(t, s, laws)
}

// TestCalls checks the part of the contract that is about calls: for servers
// that differ in nothing else.
func TestCalls(t *testing.T, s Subject) { run(t, s, callLaws) }

func run(t *testing.T, s Subject, laws []law) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) { l.run(t, bench{s}) })
	}
}

// bench is where a law is tried.
type bench struct{ Subject }

func (b bench) wire() *script.Wire {
	if b.Wire == nil {
		return nil
	}
	return b.Wire()
}

// serve starts a server and the adapter for it.
func (b bench) serve(t testing.TB, replies ...script.Reply) (*script.Server, oneloop.Model) {
	t.Helper()
	s := ServeOver(t, b.wire(), replies...)
	if b.Seen != nil {
		t.Cleanup(func() {
			for _, r := range s.Requests() {
				b.Seen(t, r)
			}
		})
	}
	return s, b.Open(t, s.URL())
}

// speaks is the API, to ask what it is like and how it words a reply.
func (b bench) speaks() *script.Wire { return (&script.Server{Wire: b.wire()}).Speaks() }

// frames is a reply as it goes over the wire, as if it were asked for by hand.
func (b bench) frames(t testing.TB, r script.Reply) [][]byte {
	t.Helper()
	s, m := b.serve(t, script.Reply{React: func(script.Request) script.Reply { return r }})
	if _, _, err := generate(t.Context(), m, asking()); err != nil {
		t.Fatal(err)
	}
	req := s.Requests()[0]
	events, _ := b.speaks().Stream(r, &req)
	return events
}

// ask is one reply to a conversation.
func (b bench) ask(t testing.TB, r script.Reply, msgs ...*oneloop.Message) *oneloop.Message {
	t.Helper()
	_, m := b.serve(t, r)
	_, msg, err := generate(t.Context(), m, asking(msgs...))
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

var bash = oneloop.ToolDef{Name: "Bash", Description: "runs a command", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`)}

func asking(msgs ...*oneloop.Message) *oneloop.Request {
	return &oneloop.Request{
		System:   []oneloop.Block{&oneloop.Text{Text: "be brief"}},
		Messages: append([]*oneloop.Message{oneloop.UserText("hi")}, msgs...),
		Tools:    []oneloop.ToolDef{bash},
	}
}

// results answers the calls of m, the first with what is given, the others
// with their number.
func results(m *oneloop.Message, first ...oneloop.Block) *oneloop.Message {
	out := oneloop.NewMessage(oneloop.User)
	for i, c := range m.ToolUses() {
		r := oneloop.TextResult(fmt.Sprint("result ", i))
		if i == 0 && len(first) > 0 {
			r.Content = first
		}
		r.ID = c.ID
		out.Blocks = append(out.Blocks, r)
	}
	return out
}

// generate collects the events; emit may be called from several goroutines.
func generate(ctx context.Context, m oneloop.Model, req *oneloop.Request) ([]oneloop.Event, *oneloop.Message, error) {
	var events []oneloop.Event
	var msg *oneloop.Message
	var err error
	for e, failed := range oneloop.Events(ctx, func(ctx context.Context, emit func(oneloop.Event)) (err error) {
		msg, err = m.Generate(ctx, req, emit)
		return err
	}) {
		if err = failed; e != nil {
			events = append(events, e)
		}
	}
	return events, msg, err
}

// shown are the events without those that tell of the transport.
func shown(events []oneloop.Event) []oneloop.Event {
	var out []oneloop.Event
	for _, e := range events {
		switch e.(type) {
		case oneloop.RequestSent, oneloop.ResponseStarted, oneloop.Received:
		default:
			out = append(out, e)
		}
	}
	return out
}

// streamed is what deltas add up to.
type streamed struct{ text, thinking, input string }

func sum(events []oneloop.Event) (s streamed) {
	for _, e := range events {
		switch e := e.(type) {
		case oneloop.TextDelta:
			s.text += e.Text
		case oneloop.ThinkingDelta:
			s.thinking += e.Text
		case oneloop.InputDelta:
			s.input += e.JSON
		}
	}
	return s
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// thoughts is the reasoning of a message.
func thoughts(m *oneloop.Message) string {
	var out strings.Builder
	for _, b := range m.Blocks {
		if t, ok := b.(*oneloop.Thinking); ok {
			out.WriteString(t.Text)
		}
	}
	return out.String()
}
