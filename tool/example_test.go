package tool_test

import (
	"context"
	"fmt"
	"strings"

	"oneloop"
	"oneloop/tool"
)

type words struct {
	Text string `json:"text" jsonschema:"the text to count in"`
}

func count(_ context.Context, in words) (string, error) {
	if in.Text == "" {
		return "", fmt.Errorf("there is no text; give one") // the model reads this and calls again
	}
	return fmt.Sprintf("%d words", len(strings.Fields(in.Text))), nil
}

func ExampleNew() {
	tools := &oneloop.Toolbox{Tools: []oneloop.Tool{
		tool.New("count_words", "Count the words of a text.", count),
	}}
	calls := []*oneloop.ToolUse{
		{ID: "1", Name: "count_words", Input: []byte(`{"text":"one loop is all you need"}`)},
		{ID: "2", Name: "count_words", Input: []byte(`{"text":7}`)},
	}
	for _, r := range tools.Run(context.Background(), calls, nil).Blocks {
		fmt.Println(r.(*oneloop.ToolResult).Text())
	}
	// Output:
	// 6 words
	// the input of count_words was refused: text: want a string, got a number. The call was not run.
}
