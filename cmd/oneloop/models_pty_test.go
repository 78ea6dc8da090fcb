//go:build linux

package main

import (
	"strings"
	"testing"

	"oneloop/looptest/script"
	"oneloop/looptest/wires"
)

func TestAConversationGoesOnWithAnotherModelAndComesBack(t *testing.T) {
	p := newProduct(t, script.Say(script.Thinking("hm", "c2lnbmF0dXJl"), shell("t1", "echo it-was-here")), say("one done"), say("three done"))
	other := p.second(wires.Chat(wires.DeepSeek), script.Say(shell("t2", "echo and-there")), say("two done"))
	p.env = append(p.env, "DEEPSEEK_API_KEY=key-of-deepseek", "DEEPSEEK_BASE_URL="+other.URL())
	c := p.sit(wide, "TERM=xterm", "--permission-mode", "bypassPermissions", "--model", "claude-sonnet-4-6")
	c.sees("Ctrl-D")
	c.turns("one", "one done")
	c.types("/model\r")
	c.sees("model claude-sonnet-4-6", "1M / 128k", "$3 / $15", "deepseek/deepseek-v4-pro", "/model NAME")
	c.types("/model glm-5.3\r")
	c.sees("no key for glm")
	c.types("/model deepsea/x\r")
	c.sees("no provider named")
	c.types("/model deepseek-v4-pro\r")
	c.sees("model deepseek/deepseek-v4-pro")
	c.turns("two", "two done")
	c.types("/cost\r")
	c.sees("deepseek/deepseek-v4-pro", "claude-sonnet-4-6")
	c.types("/model claude-sonnet-4-6\r")
	c.sees("model claude-sonnet-4-6")
	c.turns("three", "three done")
	c.types("q\r")
	c.ends()
	got := other.Requests()
	if len(got) != 2 || !strings.Contains(string(got[0].Body), "it-was-here") || !strings.Contains(string(got[0].Body), `"deepseek-v4-pro"`) {
		t.Errorf("the other got %d requests", len(got))
	}
	last := string(p.request(3).Body)
	if !strings.Contains(last, "and-there") || !strings.Contains(last, "c2lnbmF0dXJl") {
		t.Errorf("it came back with\n%s", last)
	}
}
