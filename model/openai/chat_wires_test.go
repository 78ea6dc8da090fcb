package openai_test

import (
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/looptest/script"
	"oneloop/looptest/wires"
	"oneloop/model/openai"
)

// dialects are the ways of servers, by the name of the dialect that is for them.
var dialects = map[string]wires.Dialect{
	"openai": wires.OpenAI, "deepseek": wires.DeepSeek, "openrouter": wires.OpenRouter, "qwen": wires.Qwen, "kimi": wires.Kimi, "glm": wires.GLM,
	"groq": wires.Groq, "vllm": wires.VLLM, "llamacpp": wires.LlamaCPP, "lmstudio": wires.LMStudio, "gemini": wires.GeminiCompatible,
}

func subject(dialect string, server wires.Dialect) looptest.Subject {
	return looptest.Subject{
		Wire: func() *script.Wire { return wires.Chat(server) },
		Open: func(t testing.TB, url string) oneloop.Model {
			m, err := openai.NewChat(openai.Config{BaseURL: url, Key: looptest.Key, Model: "gpt-5", Dialect: dialect})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
	}
}

// TestTheContractHoldsWithEveryDialectOfChat has all of it with those that differ
// in more than their calls.
func TestTheContractHoldsWithEveryDialectOfChat(t *testing.T) {
	looptest.Census(t)
	for name, server := range dialects {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "openai", "deepseek", "openrouter", "gemini":
				looptest.TestModel(t, subject(name, server))
			default:
				looptest.TestCalls(t, subject(name, server))
			}
		})
	}
}

// TestCallsAreTakenHoweverTheyAreSplit has servers that err in one way each.
func TestCallsAreTakenHoweverTheyAreSplit(t *testing.T) {
	for name, server := range map[string]wires.Dialect{
		"no index": {NoIndex: true}, "one index": {SameIndex: true}, "empty ids": {EmptyID: true}, "no ids": {NoID: true}, "repeated": {RepeatID: true},
		"whole": {WholeCall: true}, "null content": {NullContent: true}, "null arguments": {NullArguments: true}, "empty reasons": {EmptyFinish: true},
		"stop": {StopAlways: true}, "no end": {NoDone: true}, "no index, empty ids": {NoIndex: true, EmptyID: true},
		"no index, no ids": {NoIndex: true, NoID: true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) { looptest.TestCalls(t, subject("compatible", server)) })
	}
}
