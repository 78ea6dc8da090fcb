// Austin asks what to wear today. The weather station fails at the first call;
// the model reads why and calls again. An error is an answer like any other.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"oneloop"
	"oneloop/model/anthropic"
	"oneloop/tool"
	"oneloop/workspace"
)

type place struct {
	City string `json:"city" jsonschema:"the city, e.g. Austin"`
}

// station returns a weather station that needs a moment to wake up.
func station() func(context.Context, place) (string, error) {
	awake := false
	return func(_ context.Context, in place) (string, error) {
		if !awake {
			awake = true
			return "", errors.New("the weather station did not answer; call again")
		}
		return in.City + ": 95°F (35°C), sunny, no wind", nil
	}
}

func main() {
	workspace.Helper()
	ctx := context.Background()
	model, err := anthropic.New(anthropic.Config{
		BaseURL: os.Getenv("ANTHROPIC_BASE_URL"),
		Key:     os.Getenv("ANTHROPIC_API_KEY"),
		Model:   "claude-sonnet-5",
	})
	if err != nil {
		log.Fatal(err)
	}
	tools := &oneloop.Toolbox{Tools: []oneloop.Tool{tool.New("get_weather", "The weather in a city right now.", station())}}
	history := &oneloop.History{Tools: tools.Defs()}
	history.Append(ctx, oneloop.UserText("I am in Austin. What do I put on today?"))
	err = oneloop.Run(ctx, model, tools, history, func(e oneloop.Event) {
		if end, ok := e.(oneloop.ToolEnd); ok {
			fmt.Fprintf(os.Stderr, "%s%s → %s\n", end.Call.Name, end.Call.Input, end.Result.Text())
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(history.Last().Text())
}
