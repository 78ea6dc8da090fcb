package wires_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"oneloop/looptest/script"
	"oneloop/looptest/wires"
)

// A server that streams calls the way DeepSeek does, for a client of any kind.
func Example() {
	s := script.New(script.Say(script.Thinking("a file", ""), script.Tool("call_1", "Bash", `{"command":"ls"}`)))
	s.Wire = wires.Chat(wires.DeepSeek)
	if err := s.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	req, _ := http.NewRequest(http.MethodPost, s.URL()+"/v1/chat/completions", strings.NewReader(
		`{"model":"deepseek-chat","messages":[{"role":"user","content":"what is here?"}]}`))
	req.Header.Set("Authorization", "Bearer key")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	_, message, _ := strings.Cut(string(body), `"message":`)
	message, _, _ = strings.Cut(message, `,"logprobs"`)
	fmt.Println(message, err, s.Check())
	// Output: {"role":"assistant","content":null,"reasoning_content":"a file","tool_calls":[{"id":"call_1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"ls\"}"}}]} <nil> <nil>
}
