package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/budget"
	"oneloop/looptest/script"
	wrap "oneloop/model"
	"oneloop/model/anthropic"
	"oneloop/session"
)

// freeze is never given but when the format of the log has a new version.
var freeze = flag.Bool("freeze", false, "write the logs of a new format to testdata, once")

// tellStories writes logs into dir as the program of today writes them: one for
// each thing that a log can be taken up after.
func tellStories(t *testing.T, dir string) {
	s := stories{t, dir}
	s.forked(s.plain())
	s.parallel()
	s.shortened()
	s.rewound()
	s.refused()
	s.torn()
	s.child()
}

type stories struct {
	*testing.T
	dir string
}

const storyModel = "claude-sonnet-4-6"

// tale is a session at work on the log of a story.
type tale struct {
	stories
	log     *session.Log
	session *session.Session
	server  *script.Server
}

// serve is a model that says these replies.
func (s stories) serve(replies ...script.Reply) *script.Server {
	s.Helper()
	server := script.New(replies...)
	if err := server.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { server.Close() })
	return server
}

// begin has a model work on the log of a story.
func (s stories) begin(l *session.Log, server *script.Server) *tale {
	s.Helper()
	api, err := anthropic.New(anthropic.Config{BaseURL: server.URL(), Key: "k", Model: storyModel})
	if err != nil {
		s.Fatal(err)
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{
		storyTool("Look", oneloop.ReadOnly), storyTool("Write", oneloop.Once),
	}}
	for i, t := range box.Tools {
		box.Tools[i] = l.Intend(t)
	}
	l.Use(session.Setup{Model: storyModel, System: []oneloop.Block{&oneloop.Text{Text: "Be brief. 说中文。"}}, Tools: box.Defs(),
		Params: oneloop.Params{MaxTokens: 8000, Effort: "high"}})
	m := wrap.Budget(wrap.Retry(api, wrap.RetryOptions{Retries: 2, Delay: time.Microsecond}), budget.New(budget.Limits{}), storyModel)
	return &tale{s, l, &session.Session{Model: m, Tools: box, Transcript: l, Inbox: new(session.Inbox)}, server}
}

func (s stories) new(name string, replies ...script.Reply) *tale {
	head := session.Head{ID: name, Dir: "/w/项目", Program: "oneloop 1", User: "1000@host"}
	return s.begin(session.NewLog(filepath.Join(s.dir, name+".jsonl"), session.LogOptions{Head: head}), s.serve(replies...))
}

func storyTool(name string, effect oneloop.Effect) oneloop.Tool {
	return oneloop.Tool{
		ToolDef: oneloop.ToolDef{Name: name, Description: name + " at a file.", Schema: json.RawMessage(`{"type":"object","properties":{"file":{"type":"string"}}}`)},
		Effect:  func(*oneloop.ToolUse) oneloop.Effect { return effect }, Parallel: true,
		Run: func(_ context.Context, c *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
			emit(oneloop.ToolOutput{ID: c.ID, Text: "at work on " + c.ID + "\n"})
			if strings.Contains(string(c.Input), "missing") {
				return nil, errors.New("there is no such file")
			}
			return oneloop.TextResult("1\tone <line>\n2\t第二行\n"), nil
		},
	}
}

func (t *tale) turn(blocks ...oneloop.Block) *tale {
	t.Helper()
	if err := t.session.Turn(t.Context(), nil, blocks...); err != nil {
		t.Fatal(err)
	}
	return t
}

func (t *tale) end() {
	t.Helper()
	if err := errors.Join(t.server.Check(), t.log.Close()); err != nil {
		t.Fatal(err)
	}
}

func storyCall(id, name string) script.Block { return script.Tool(id, name, `{"file":"a.txt"}`) }

// plain is two turns with a call, a try that failed, and a name.
func (s stories) plain() *tale {
	half := script.Say(script.Text("It has"))
	half.Error = &script.Error{Type: "overloaded_error", Message: "Overloaded"}
	t := s.new("plain",
		script.Say(script.Thinking("I look first.", "c2lnbmVk"), script.Text("I look."), storyCall("toolu_1", "Look")),
		half, script.Say(script.Text("It has two lines: \"one <line>\" and 第二行.\n")),
		script.Say(script.Text("好的。")))
	t.turn(text("what is in a.txt?"))
	t.log.SetInfo(func(i *session.Info) { i.Name = "two lines" })
	t.turn(text("说中文")).end()
	return t
}

// parallel is calls side by side, of which one fails and one is none; questions
// and refusals; and lines that were typed meanwhile, of which one waits.
func (s stories) parallel() {
	broken := script.ToolPieces("toolu_4", "Write", `{"file":"b`)
	t := s.new("parallel",
		script.Say(storyCall("toolu_1", "Write"), storyCall("toolu_2", "Look"), script.Tool("toolu_3", "Write", `{"file":"missing"}`), broken),
		script.Say(script.Text("done")))
	asked := oneloop.Question{Kind: "tool", Title: "Write", Detail: "a.txt", Rule: "Write(a.txt)"}
	for _, e := range []oneloop.Event{
		oneloop.Boundary{Mode: "default", In: "landlock", Write: []string{"/w/项目"}, Network: "none"},
		oneloop.Asked{Question: asked}, oneloop.Answered{Question: asked, Answer: oneloop.Answer{Allow: true}},
		oneloop.Denied{Call: &oneloop.ToolUse{ID: "toolu_9", Name: "Write", Input: json.RawMessage(`{}`)}, Reason: "not here"},
		oneloop.ChildStart{Agent: "1", Prompt: "look"}, oneloop.ChildEnd{Agent: "1"},
		oneloop.Limited{What: "turns", Limit: "3", Used: "3"}, oneloop.Notice{Text: "The disk is almost full."},
	} {
		t.log.Event(e)
	}
	t.session.Inbox.Put(session.BeforeModel, text("also b.txt"))
	t.turn(text("write them"))
	t.session.Inbox.Put(session.AtTurnEnd, text("and then c.txt"))
	t.end()
}

// shortened is a summary in the place of two turns, and a reply that is no
// longer bound to its reasoning.
func (s stories) shortened() {
	long := strings.Repeat("a long report ", 40)
	t := s.new("shortened",
		script.Say(script.Thinking("hm", "c2lnMQ"), storyCall("toolu_1", "Look")), script.Say(script.Text(long)),
		script.Say(script.Text("second "+long)),
		script.Say(script.Text("a.txt has two lines.")),
		script.Say(script.Thinking("hm", "c2lnMg"), script.Text("third")), script.Say(script.Text("fourth")))
	t.turn(text("first")).turn(text("second"))
	if err := t.session.Compact(t.Context(), nil, "the lines"); err != nil {
		t.Fatal(err)
	}
	t.turn(text("third"))
	t.log.Strip()
	t.turn(text("fourth")).end()
}

// rewound is a conversation that went back twice: to before a turn, and to
// before a summary.
func (s stories) rewound() {
	t := s.new("rewound",
		script.Say(script.Text("one "+strings.Repeat("word ", 60))), script.Say(script.Text("two")), script.Say(script.Text("another two")),
		script.Say(script.Text("all of it")), script.Say(script.Text("three")), script.Say(script.Text("another three")))
	t.turn(text("first")).turn(text("second")).back(1).turn(text("otherwise"))
	if err := t.session.Compact(t.Context(), nil, ""); err != nil {
		t.Fatal(err)
	}
	t.turn(text("third")).back(1).turn(text("once more")).end()
}

// back takes the conversation back to before a prompt, by its place from 0.
func (t *tale) back(i int) *tale {
	t.Helper()
	if err := t.log.Rewind(t.log.Prompts()[i].N - 1); err != nil {
		t.Fatal(err)
	}
	return t
}

// refused is an image that an API did not take.
func (s stories) refused() {
	t := s.new("refused", script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		if bytes.Contains(r.Body, []byte(`"image"`)) {
			return script.Fail(400, "invalid_request_error", "messages.0.content.0.image.source.base64.data: Could not process image")
		}
		return script.Say(script.Text("without it then"))
	}})
	t.turn(&oneloop.Media{Type: "image", MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}, text("what is this?")).end()
}

// forked goes on otherwise with what plain began.
func (s stories) forked(plain *tale) {
	path := plain.log.Path()
	_, prompts, _, err := session.Look(path)
	if err != nil {
		s.Fatal(err)
	}
	made, err := session.Fork(path, prompts[1].N-1, session.LogOptions{Head: session.Head{Program: "oneloop 1", User: "1000@host"}})
	if err != nil {
		s.Fatal(err)
	}
	forked := filepath.Join(s.dir, "forked.jsonl")
	if err := os.Rename(made, forked); err != nil {
		s.Fatal(err)
	}
	l, _ := open(s.T, forked)
	plain.server.Add(script.Say(script.Text("in English")))
	s.begin(l, plain.server).turn(text("in English, please")).end()
}

// torn is what a process leaves that was killed in the middle of a call, and of
// a write.
func (s stories) torn() {
	t := s.new("torn", script.Say(script.Text("I write."), storyCall("toolu_1", "Write"), storyCall("toolu_2", "Write")), script.Say(script.Text("done")))
	path := t.log.Path()
	var left []byte
	box := t.session.Tools.(*oneloop.Toolbox)
	run := box.Tools[1].Run
	box.Tools[1].Parallel = false
	box.Tools[1].Run = func(ctx context.Context, c *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		r, err := run(ctx, c, emit)
		if left == nil {
			if left, err = os.ReadFile(path); err != nil {
				t.Error(err)
			}
		}
		return r, err
	}
	t.turn(text("write them")).end()
	if err := os.WriteFile(path, append(left, `{"n":9,"t":"2026-11-30T18:0`...), 0o600); err != nil {
		s.Fatal(err)
	}
}

// child is a subtask of plain.
func (s stories) child() {
	head := session.Head{ID: "child", Dir: "/w/项目", Program: "oneloop 1", User: "1000@host", Child: &session.Child{Of: "plain", Path: "1", Call: "toolu_1"}}
	l := session.NewLog(filepath.Join(s.dir, "child.jsonl"), session.LogOptions{Head: head})
	s.begin(l, s.serve(script.Say(script.Text("it is there")))).turn(text("is a.txt there?")).end()
}
