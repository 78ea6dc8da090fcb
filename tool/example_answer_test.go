package tool_test

import (
	"context"
	"fmt"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/looptest/wires"
	"oneloop/model/openai"
	"oneloop/session"
	"oneloop/tool"
)

type forecast struct {
	City    string  `json:"city"`
	Celsius float64 `json:"celsius" jsonschema:"degrees at noon"`
}

// The answer of a model, of whichever provider, as a Go value. The first one
// does not fit; the model is told where, and gives another.
func ExampleAnswerOf() {
	api := script.New( // in place of the real one
		script.Say(script.Tool("t1", tool.AnswerTool, `{"city":"北京","celsius":"warm"}`)),
		script.Say(script.Tool("t2", tool.AnswerTool, `{"city":"北京","celsius":25}`)))
	api.Wire = wires.Chat(wires.Qwen)
	if err := api.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer api.Close()
	model, err := openai.NewChat(openai.Config{BaseURL: api.URL(), Dialect: "qwen", Key: "sk-example", Model: "qwen3.7-max"})
	if err != nil {
		fmt.Println(err)
		return
	}

	answer, err := tool.AnswerOf[forecast]()
	if err != nil {
		fmt.Println(err)
		return
	}
	s := &session.Session{Model: model, Tools: &oneloop.Toolbox{Tools: []oneloop.Tool{answer.Tool()}}, AtStop: answer.AtStop}
	for _, err := range s.Send(context.Background(), &oneloop.Text{Text: "北京明天天气怎么样？"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	var f forecast
	if err := answer.Decode(&f); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %.0f°C\n", f.City, f.Celsius)
	// Output: 北京: 25°C
}
