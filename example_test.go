package oneloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"oneloop"
)

// scripted is a model that first calls a tool and then repeats its answer.
func scripted(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	last := req.Messages[len(req.Messages)-1]
	if result, ok := last.Blocks[0].(*oneloop.ToolResult); ok {
		text := "The tool says: " + result.Text()
		emit(oneloop.TextDelta{Text: text})
		return &oneloop.Message{
			Role:   oneloop.Assistant,
			Blocks: []oneloop.Block{&oneloop.Text{Text: text}},
			Stop:   oneloop.StopEndTurn,
		}, nil
	}
	return &oneloop.Message{
		Role:   oneloop.Assistant,
		Blocks: []oneloop.Block{&oneloop.ToolUse{ID: "1", Name: "weather", Input: json.RawMessage(`{"city":"Beijing"}`)}},
		Stop:   oneloop.StopToolUse,
	}, nil
}

var weather = oneloop.Tool{
	ToolDef: oneloop.ToolDef{
		Name:        "weather",
		Description: "The weather in a city.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	},
	Run: func(_ context.Context, call *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
		var in struct{ City string }
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return nil, err
		}
		if in.City != "Beijing" {
			return nil, fmt.Errorf("no weather is known for %q; ask for Beijing", in.City)
		}
		return oneloop.TextResult("sunny, 2 degrees"), nil
	},
}

// One turn: the model asks for a tool, the loop runs it, the model answers.
func Example() {
	ctx := context.Background()
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{weather}}
	history := &oneloop.History{Tools: box.Defs()}
	history.Append(ctx, oneloop.UserText("How is the weather in Beijing?"))

	err := oneloop.Run(ctx, oneloop.ModelFunc(scripted), box, history, func(oneloop.Event) {})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(history.Last().Text())
	// Output: The tool says: sunny, 2 degrees
}

// Whatever goes wrong with a call is its answer, told to the model.
func ExampleToolbox() {
	box := &oneloop.Toolbox{
		Tools:   []oneloop.Tool{weather},
		Aliases: map[string]oneloop.Alias{"get_weather": {Tool: "weather"}},
	}
	msg := box.Run(context.Background(), []*oneloop.ToolUse{
		{ID: "1", Name: "get_weather", Input: json.RawMessage(`{"city":"Beijing"}`)},
		{ID: "2", Name: "weather", Input: json.RawMessage(`{"city":"Paris"}`)},
		{ID: "3", Name: "wether", Input: json.RawMessage(`{}`)},
	}, func(oneloop.Event) {})
	for _, b := range msg.Blocks {
		r := b.(*oneloop.ToolResult)
		fmt.Println(r.ID, r.IsError, r.Text())
	}
	// Output:
	// 1 false sunny, 2 degrees
	// 2 true no weather is known for "Paris"; ask for Beijing
	// 3 true there is no tool named "wether", nothing was run. The tools are: weather.
}

// Events turns the sink inside out: a turn to range over.
func ExampleEvents() {
	ctx := context.Background()
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{weather}}
	history := &oneloop.History{Tools: box.Defs()}
	history.Append(ctx, oneloop.UserText("How is the weather in Beijing?"))

	for e, err := range oneloop.Events(ctx, func(ctx context.Context, emit func(oneloop.Event)) error {
		return oneloop.Run(ctx, oneloop.ModelFunc(scripted), box, history, emit)
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e := e.(type) {
		case oneloop.ToolStart:
			fmt.Printf("> %s %s\n", e.Call.Name, e.Call.Input)
		case oneloop.TextDelta:
			fmt.Println(e.Text)
		}
	}
	// Output:
	// > weather {"city":"Beijing"}
	// The tool says: sunny, 2 degrees
}

// A history keeps everything and sends what an API takes.
func ExampleHistory() {
	ctx := context.Background()
	var history oneloop.History
	history.Append(ctx,
		oneloop.UserText("Hello?"),
		&oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn}, // the model said nothing
		oneloop.UserText("Are you there?"),
	)
	req, err := history.Request(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(history.Messages()), "kept,", len(req.Messages), "sent")
	// Output: 3 kept, 2 sent
}

// Middleware wraps one of the three; the loop does not know of it.
func ExampleModelFunc() {
	limited := func(m oneloop.Model, requests int) oneloop.Model {
		return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
			if requests--; requests < 0 {
				return nil, errors.New("enough")
			}
			return m.Generate(ctx, req, emit)
		})
	}
	ctx := context.Background()
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{weather}}
	history := &oneloop.History{Tools: box.Defs()}
	history.Append(ctx, oneloop.UserText("How is the weather in Beijing?"))
	fmt.Println(oneloop.Run(ctx, limited(oneloop.ModelFunc(scripted), 1), box, history, func(oneloop.Event) {}))
	fmt.Println(len(history.Messages()), "messages are kept")
	// Output:
	// enough
	// 3 messages are kept
}
