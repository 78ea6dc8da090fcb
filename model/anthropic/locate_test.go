package anthropic

import (
	"testing"

	"oneloop"
)

func TestTheBlockThatAnErrorNamesIsFound(t *testing.T) {
	image := &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte("x")}
	result := &oneloop.ToolResult{ID: "1", Content: []oneloop.Block{&oneloop.Text{Text: " "}, &oneloop.Text{Text: "r"}, image}}
	msgs := []*oneloop.Message{
		oneloop.UserText("one"),
		oneloop.NewMessage(oneloop.User, &oneloop.Text{Text: " "}, image),
		{Role: oneloop.Assistant, Origin: oneloop.Origin{API: "other"}, Blocks: []oneloop.Block{&oneloop.Thinking{Text: "hm"}}}, // not sent
		oneloop.UserText("two"),
		{Role: oneloop.Assistant, Blocks: []oneloop.Block{&oneloop.ToolUse{ID: "1", Name: "T"}}, Stop: oneloop.StopToolUse},
		oneloop.NewMessage(oneloop.User, result),
		oneloop.UserText("three"),
	}
	for text, want := range map[string]oneloop.Position{
		"messages.0.content.0: x":                                              {Message: msgs[0], Block: 0, Inner: -1},
		"messages.0.content.1.image.source.base64: too large":                  {Message: msgs[1], Block: 1, Inner: -1},
		"messages.0.content.2.text: x":                                         {Message: msgs[3], Block: 0, Inner: -1},
		"messages.1: `tool_use` ids":                                           {Message: msgs[4], Block: -1, Inner: -1},
		"all messages. See messages.2.content.0.tool_result.content.1.image.a": {Message: msgs[5], Block: 0, Inner: 2},
		"messages.2.content.0.content.0: x":                                    {Message: msgs[5], Block: 0, Inner: 1},
		"messages.2.content.1: x":                                              {Message: msgs[6], Block: 0, Inner: -1},
	} {
		e := &oneloop.APIError{Message: text}
		if locate(e, msgs, "m"); e.At == nil || *e.At != want {
			t.Errorf("%s: %+v, want %+v", text, e.At, want)
		}
	}
	for _, text := range []string{"", "messages: too many", "messages.", "messages.9.content.0: x", "messages.2.content.7: x", "messages.x"} {
		e := &oneloop.APIError{Message: text}
		if locate(e, msgs, "m"); e.At != nil {
			t.Errorf("%q names %+v", text, e.At)
		}
	}
}
