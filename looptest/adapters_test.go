package looptest_test

import (
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/looptest/script"
	"oneloop/looptest/wires"
	"oneloop/model/anthropic"
	"oneloop/model/gemini"
	"oneloop/model/ollama"
	"oneloop/model/openai"
)

// adapter is one adapter with the API it is tested against.
type adapter struct {
	name     string
	subject  looptest.Subject
	provider bool // one of many whose ways are tested where they are known
}

// adapters are all that there are.
func adapters() []adapter {
	seenChat := chat("openai", "gpt-5", wires.OpenAI)
	seenChat.Seen = seen(checkChat)
	return []adapter{
		{name: "anthropic", subject: looptest.Subject{Open: func(t testing.TB, url string) oneloop.Model {
			return made(t)(anthropic.New(anthropic.Config{BaseURL: url, Key: looptest.Key, Model: "claude-sonnet-5"}))
		}, Seen: seen(checkAnthropic)}},
		{name: "gemini", subject: looptest.Subject{Wire: wires.Gemini, Open: func(t testing.TB, url string) oneloop.Model {
			return made(t)(gemini.New(gemini.Config{BaseURL: url, Key: looptest.Key, Model: "gemini-3-pro-preview"}))
		}, Seen: seen(checkGemini)}},
		{name: "openai-chat", subject: seenChat},
		{name: "openai-responses", subject: looptest.Subject{Wire: wires.Responses, Open: func(t testing.TB, url string) oneloop.Model {
			return made(t)(openai.NewResponses(openai.Config{BaseURL: url, Key: looptest.Key, Model: "gpt-5"}))
		}, Seen: seen(checkResponses)}},
		{name: "deepseek", provider: true, subject: chat("deepseek", "deepseek-reasoner", wires.DeepSeek)},
		{name: "openrouter", provider: true, subject: chat("openrouter", "anthropic/claude-sonnet-5", wires.OpenRouter)},
		{name: "gemini-compatible", provider: true, subject: chat("gemini", "gemini-2.5-pro", wires.GeminiCompatible)},
		{name: "ollama", subject: looptest.Subject{
			Wire: func() *script.Wire { return wires.Ollama(wires.OllamaServer{}) },
			Open: func(t testing.TB, url string) oneloop.Model {
				return made(t)(ollama.New(ollama.Config{BaseURL: url, Key: looptest.Key, Model: "scripted-model"}))
			},
			Seen: seen(checkOllama),
		}},
	}
}

// chat is Chat Completions in the way of one provider.
func chat(dialect, model string, d wires.Dialect) looptest.Subject {
	return looptest.Subject{
		Wire: func() *script.Wire { return wires.Chat(d) },
		Open: func(t testing.TB, url string) oneloop.Model {
			return made(t)(openai.NewChat(openai.Config{BaseURL: url, Key: looptest.Key, Model: model, Dialect: dialect}))
		},
	}
}

// made ends the test when an adapter could not be made.
func made(t testing.TB) func(oneloop.Model, error) oneloop.Model {
	t.Helper()
	return func(m oneloop.Model, err error) oneloop.Model {
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func TestEveryAdapterKeepsTheContract(t *testing.T) {
	looptest.Census(t)
	for _, a := range adapters() {
		if !a.provider {
			t.Run(a.name, func(t *testing.T) { looptest.TestModel(t, a.subject) })
		}
	}
}

func TestAConversationCrossesFromEveryAdapterToEveryOtherAndBack(t *testing.T) {
	looptest.Census(t)
	for _, from := range adapters() {
		for _, to := range adapters() {
			if from.name != to.name {
				t.Run(from.name+" to "+to.name, func(t *testing.T) { looptest.TestCrossing(t, from.subject, to.subject) })
			}
		}
	}
}
