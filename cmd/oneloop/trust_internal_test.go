package main

import (
	"strings"
	"testing"

	"oneloop/internal/tui"
	"oneloop/policy"
)

func TestTheTrustQuestionHasWordsForEveryKindOfFinding(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		words := tui.Messages(lang)
		p := &program{words: words}
		n := 0
		for k := policy.Settings; !strings.HasPrefix(k.String(), "finding of kind"); k++ {
			n++
			q := p.trustQuestion("/w", []policy.Finding{{Name: "AGENTS.md", Kind: k, Changed: true}})
			if !strings.Contains(q.Detail, words.TrustKinds[k]) || !strings.Contains(q.Detail, words.TrustChanged) {
				t.Errorf("%s: %s", lang, q.Detail)
			}
		}
		if n != len(words.TrustKinds) {
			t.Errorf("%d kinds, %d texts", n, len(words.TrustKinds))
		}
	}
}
