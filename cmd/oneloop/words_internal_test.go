package main

import (
	"context"
	"maps"
	"slices"
	"testing"
)

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

func TestTheCommandsOfAConversationAreKnownOutsideOfIt(t *testing.T) {
	alone, withWords := new(conversation).commands(context.Background())
	names := slices.Sorted(maps.Keys(alone))
	for name := range maps.Keys(withWords) {
		names = append(names, name)
	}
	slices.Sort(names)
	if known := slices.Sorted(slices.Values(slashCommands)); !slices.Equal(names, known) {
		t.Errorf("a conversation has %v, and %v are known", names, known)
	}
}
