package looptest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest"
	"oneloop/looptest/script"
	"oneloop/model"
	"oneloop/session"
	"oneloop/tool"
)

// TestAnAgentWorksOverEveryAPI takes a turn in which everything goes wrong
// once: the API is busy, breaks off, and the model errs.
func TestAnAgentWorksOverEveryAPI(t *testing.T) {
	looptest.Census(t)
	for _, a := range adapters() {
		t.Run(a.name, func(t *testing.T) { worksThrough(t, a.subject) })
	}
}

func worksThrough(t *testing.T, s looptest.Subject) {
	busy := script.Say(script.Text("half "))
	busy.Error = &script.Error{Type: "overloaded_error", Message: "busy"}
	cut := script.Say(script.Text("half "), script.Tool("x", "weather", `{"name":"Rome"}`))
	cut.Cut = &script.Cut{Events: 2}
	var wire *script.Wire
	if s.Wire != nil {
		wire = s.Wire()
	}
	server := looptest.ServeOver(t, wire, script.Fail(529, "overloaded_error", "busy"), busy, cut,
		script.Say(script.Thinking("two cities", "c2ln"), script.Text("I ask. "), script.Tool("a", "weather", `{"name":"北京"}`), script.Tool("b", "weather", `{"name":`)),
		script.Say(script.Thinking("again", "c2ln"), script.Tool("c", "weather", `{"name":"Rome"}`), script.Tool("d", "no-such-tool", `{}`)),
		script.Say(script.Text("It is sunny.")))

	var asked []string
	weather := tool.New("weather", "The weather in a city.", func(_ context.Context, in city) (string, error) {
		asked = append(asked, in.Name)
		return "sunny in " + in.Name, nil
	})
	m := model.Retry(s.Open(t, server.URL()), model.RetryOptions{Delay: time.Millisecond})
	agent := &session.Session{Model: m, Tools: &oneloop.Toolbox{Tools: []oneloop.Tool{weather}}}
	said, tries := "", 0
	for e, err := range agent.Send(t.Context(), &oneloop.Text{Text: "What is the weather in Beijing and Rome?"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case oneloop.TextDelta:
			said += e.Text
		case oneloop.Discard:
			said = ""
		case oneloop.Retry:
			tries++
		}
	}
	if said != "I ask. It is sunny." || tries != 3 || strings.Join(asked, " ") != "北京 Rome" {
		t.Errorf("it said %q after %d tries more and asked for %q", said, tries, asked)
	}
	last := server.Requests()[5]
	for _, want := range []string{"sunny in 北京", "sunny in Rome"} {
		if !strings.Contains(string(last.Body), want) {
			t.Errorf("the last request lacks %q:\n%s", want, last.Body)
		}
	}
	if s.Seen != nil {
		for _, r := range server.Requests() {
			s.Seen(t, r)
		}
	}
}
