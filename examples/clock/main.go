// Clock has two tools, a clock and a converter of units, and a question that
// needs both. A unit or a tool that does not exist is that call's own answer.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"oneloop"
	"oneloop/model/anthropic"
	"oneloop/tool"
	"oneloop/workspace"
)

// A value times scale, plus zero, is the value in the unit of its kind.
var units = map[string]struct {
	kind        string
	scale, zero float64
}{
	"km": {"length", 1000, 0}, "mile": {"length", 1609.344, 0},
	"kg": {"mass", 1, 0}, "lb": {"mass", 0.45359237, 0},
	"celsius": {"temperature", 1, 0}, "fahrenheit": {"temperature", 5. / 9, -160. / 9},
}

type conversion struct {
	Value float64 `json:"value"`
	From  string  `json:"from_unit" jsonschema:"km, mile, kg, lb, celsius or fahrenheit"`
	To    string  `json:"to_unit"`
}

func convert(_ context.Context, in conversion) (string, error) {
	from, to := units[in.From], units[in.To]
	if from.kind == "" || from.kind != to.kind {
		return "", fmt.Errorf("cannot convert %s to %s; known are km, mile, kg, lb, celsius, fahrenheit", in.From, in.To)
	}
	return fmt.Sprintf("%g %s = %.4f %s", in.Value, in.From, (in.Value*from.scale+from.zero-to.zero)/to.scale, in.To), nil
}

func now(context.Context, struct{}) (string, error) { return time.Now().Format(time.RFC3339), nil }

func main() {
	workspace.Helper()
	ctx, key := context.Background(), os.Getenv("ANTHROPIC_API_KEY")
	model, err := anthropic.New(anthropic.Config{BaseURL: os.Getenv("ANTHROPIC_BASE_URL"), Key: key, Model: "claude-opus-4-8"})
	if err != nil {
		log.Fatal(err)
	}
	tools := &oneloop.Toolbox{Tools: []oneloop.Tool{
		tool.New("get_current_time", "The local time.", now), tool.New("convert_units", "Converts a value between units.", convert)}}
	history := &oneloop.History{Tools: tools.Defs()}
	history.Append(ctx, oneloop.UserText("现在是几点？再把 100 摄氏度换算成华氏度。"))
	if err := oneloop.Run(ctx, model, tools, history, func(oneloop.Event) {}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(history.Last().Text())
}
