package gemini_test

import (
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/looptest/wires"
	"oneloop/model/gemini"
)

func subject(name string) looptest.Subject {
	return looptest.Subject{
		Wire: wires.Gemini,
		Open: func(t testing.TB, url string) oneloop.Model {
			m, err := gemini.New(gemini.Config{BaseURL: url, Key: looptest.Key, Model: name})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
	}
}

func TestTheContractOfCallsHoldsWithAModelThatSignsNothing(t *testing.T) {
	looptest.TestCalls(t, subject("gemini-2.0-flash"))
}
