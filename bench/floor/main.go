// Command floor is an agent with nothing left to take away: ask the model, run
// its commands with bash, hand back what they print, until it stops asking.
// It sends the whole history through encoding/json each time, does not stream
// and protects nobody from anything. What it costs is what a turn costs at
// least; oneloop is measured in multiples of it.
//
// The last argument is the prompt, ANTHROPIC_BASE_URL the address of the API.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
)

type request struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	System    string    `json:"system"`
	Tools     []tool    `json:"tools"`
	Messages  []message `json:"messages"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type reply struct {
	StopReason string            `json:"stop_reason"`
	Content    []json.RawMessage `json:"content"`
}

type block struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	ID    string `json:"id"`
	Input struct {
		Command string `json:"command"`
	} `json:"input"`
}

type result struct {
	Type    string `json:"type"`
	ID      string `json:"tool_use_id"`
	Content string `json:"content"`
}

func main() {
	if err := run(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(url, prompt string) error {
	req := request{
		Model: "floor", MaxTokens: 4096, System: "You work in a terminal.",
		Tools: []tool{{"bash", "Run a command.",
			json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)}},
		Messages: []message{{"user", prompt}},
	}
	for {
		r, err := ask(url, req)
		if err != nil {
			return err
		}
		req.Messages = append(req.Messages, message{"assistant", r.Content})
		results, err := answer(r.Content)
		if err != nil {
			return err
		}
		if r.StopReason != "tool_use" {
			return nil
		}
		req.Messages = append(req.Messages, message{"user", results})
	}
}

func ask(url string, req request) (r reply, err error) {
	body, err := json.Marshal(req)
	if err != nil {
		return r, err
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return r, fmt.Errorf("%s says %s", url, resp.Status)
	}
	return r, json.NewDecoder(resp.Body).Decode(&r)
}

func answer(content []json.RawMessage) (results []result, err error) {
	for _, raw := range content {
		var b block
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, err
		}
		switch b.Type {
		case "text":
			fmt.Println(b.Text)
		case "tool_use":
			out, err := exec.Command("bash", "-c", b.Input.Command).CombinedOutput()
			if err != nil {
				out = fmt.Appendf(out, "\n%v", err)
			}
			results = append(results, result{"tool_result", b.ID, string(out)})
		}
	}
	return results, nil
}
