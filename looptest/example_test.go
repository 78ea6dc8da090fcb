package looptest_test

import (
	"context"
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
	"oneloop/tool"
)

type city struct {
	Name string `json:"name"`
}

// In your package this is func TestTheAgentLooksAtTheWeather. With tools that
// start processes TestMain calls workspace.Helper first, and
// looptest.Census(t) sees that none is left.
func theAgentLooksAtTheWeather(t *testing.T) {
	weather := tool.New("weather", "The weather in a city.", func(_ context.Context, in city) (string, error) {
		return "sunny in " + in.Name, nil
	})
	model := looptest.Script(t,
		looptest.Answer(looptest.Call("c1", "weather", `{"name":"Beijing"}`)),
		looptest.Say("It is sunny."),
	)
	agent := &session.Session{Model: model, Tools: &oneloop.Toolbox{Tools: []oneloop.Tool{weather}}}

	var said string
	for e, err := range agent.Send(t.Context(), &oneloop.Text{Text: "What is the weather in Beijing?"}) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.(oneloop.TextDelta); ok {
			said += d.Text
		}
	}
	if said != "It is sunny." {
		t.Errorf("it said %q", said)
	}
	asked := model.Requests()
	results := asked[1].Messages[2].Blocks
	if got := results[0].(*oneloop.ToolResult).Text(); got != "sunny in Beijing" {
		t.Errorf("the model was told %q", got)
	}
}

// A test of an agent: the model plays a script, the rest is real.
func ExampleScript() {
	_ = theAgentLooksAtTheWeather
}
