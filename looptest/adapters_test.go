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
	other    looptest.Subject // the same with another model
	provider bool             // one of many whose ways are tested where they are known
}

// adapters are all that there are.
func adapters() []adapter {
	return []adapter{
		one("anthropic", nil, checkAnthropic, "claude-sonnet-5", "claude-opus-4-6", func(url, model string) (oneloop.Model, error) {
			return anthropic.New(anthropic.Config{BaseURL: url, Key: looptest.Key, Model: model})
		}),
		one("gemini", wires.Gemini, checkGemini, "gemini-3-pro-preview", "gemini-3-flash", func(url, model string) (oneloop.Model, error) {
			return gemini.New(gemini.Config{BaseURL: url, Key: looptest.Key, Model: model})
		}),
		one("ollama", func() *script.Wire { return wires.Ollama(wires.OllamaServer{}) }, checkOllama, "scripted-model", "other-model", func(url, model string) (oneloop.Model, error) {
			return ollama.New(ollama.Config{BaseURL: url, Key: looptest.Key, Model: model})
		}),
		chat("openai", wires.OpenAI, checkChat, "gpt-5", "gpt-4.1"),
		one("openai responses", wires.Responses, checkResponses, "gpt-5", "gpt-5.1", func(url, model string) (oneloop.Model, error) {
			return openai.NewResponses(openai.Config{BaseURL: url, Key: looptest.Key, Model: model})
		}),
		chat("deepseek", wires.DeepSeek, nil, "deepseek-reasoner", "deepseek-chat"),
		chat("openrouter", wires.OpenRouter, nil, "anthropic/claude-sonnet-5", "minimax/minimax-m2"),
		chat("gemini", wires.GeminiCompatible, nil, "gemini-2.5-pro", "gemini-2.5-flash"),
	}
}

// one is an adapter that open makes for a model at an address.
func one(name string, wire func() *script.Wire, check func() checker, model, other string, open func(url, model string) (oneloop.Model, error)) adapter {
	of := func(model string) looptest.Subject {
		s := looptest.Subject{Wire: wire, Open: func(t testing.TB, url string) oneloop.Model {
			m, err := open(url, model)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}}
		if check != nil {
			s.Seen = seen(check)
		}
		return s
	}
	return adapter{name: name, subject: of(model), other: of(other)}
}

// chat is Chat Completions in the way of one provider.
func chat(dialect string, d wires.Dialect, check func() checker, model, other string) adapter {
	a := one(dialect+" chat", func() *script.Wire { return wires.Chat(d) }, check, model, other, func(url, model string) (oneloop.Model, error) {
		return openai.NewChat(openai.Config{BaseURL: url, Key: looptest.Key, Model: model, Dialect: dialect})
	})
	a.provider = check == nil
	return a
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
		t.Run(from.name+" to another model", func(t *testing.T) { looptest.TestCrossing(t, from.subject, from.other) })
	}
}
