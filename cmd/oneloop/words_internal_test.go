package main

import "testing"

func TestOnlyAMisspelledCommandIsOne(t *testing.T) {
	for word, want := range map[string]string{
		"sesions": "sessions", "seesion": "sessions", "hepl": "help", "halp": "help", "pollicy": "policy", "docter": "doctor", "updaet": "update",
		"completoin": "completion", "modles": "models", "demo": "",
		// What people ask for in one word.
		"test": "", "tests": "", "review": "", "hello": "", "merge": "", "sort": "", "log": "", "app": "", "map": "", "hi": "", "fix": "", "format": "",
	} {
		if got := nearWord(word); got != want {
			t.Errorf("%s is taken for %q, want %q", word, got, want)
		}
	}
}
