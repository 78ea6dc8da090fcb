package ollama_test

import (
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/looptest/script"
	"oneloop/looptest/wires"
	"oneloop/model/ollama"
)

func subject(server wires.OllamaServer) looptest.Subject {
	return looptest.Subject{
		Wire: func() *script.Wire { return wires.Ollama(server) },
		Open: func(t testing.TB, url string) oneloop.Model {
			m, err := ollama.New(ollama.Config{BaseURL: url, Key: looptest.Key, Model: "scripted-model"})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
	}
}

func TestTheContractOfCallsHoldsWithAServerThatGivesNoIDs(t *testing.T) {
	looptest.TestCalls(t, subject(wires.OllamaServer{NoIDs: true}))
}
