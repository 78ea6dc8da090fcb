package config_test

import (
	"strings"
	"testing"

	"oneloop/internal/config"
)

const hook = `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"COMMAND","timeout":5}]}]}}`

func commands(s *config.Settings) string {
	var all []string
	for _, h := range s.Hooks {
		all = append(all, h.Command)
	}
	return strings.Join(all, " ")
}

func TestHooksOfAllSettingsRunThoseOfTheUserFirst(t *testing.T) {
	w := newWorld(t)
	own := w.user("settings.json", strings.Replace(hook, "COMMAND", "own", 1))
	w.write(w.dir, ".oneloop/settings.json", strings.Replace(hook, "COMMAND", "project", 1))
	w.write(w.dir, ".oneloop/settings.local.json", strings.Replace(hook, "COMMAND", "local", 1))
	s := w.must() // nobody is there to trust the folder
	if commands(s) != "own" || s.Hooks[0].File != own || len(s.Notices) != 1 {
		t.Errorf("hooks %+v, said %q", s.Hooks, s.Notices)
	}
	w.flags.Trust = true
	if s := w.must(); commands(s) != "own local project" || len(s.Notices) > 0 {
		t.Errorf("hooks %q, said %q", commands(s), s.Notices)
	}
}

func TestHooksAreNotRunWithScriptsThatAreNotTrusted(t *testing.T) {
	w := newWorld(t)
	w.write(w.dir, ".oneloop/settings.json", strings.Replace(hook, "COMMAND", ".oneloop/hooks/x.sh", 1))
	w.write(w.dir, ".oneloop/hooks/x.sh", "true")
	w.answering(true)
	if s := w.must(); len(s.Hooks) != 1 {
		t.Fatalf("hooks %v", s.Hooks)
	}
	w.write(w.dir, ".oneloop/hooks/x.sh", "evil")
	w.ask = nil
	s := w.must()
	if len(s.Hooks) > 0 || !s.Trusted.Has(".oneloop/settings.json") {
		t.Errorf("hooks %v", s.Hooks)
	}
	wantNotice(t, s, "scripts beside it are not trusted")
}

func TestAHookThatCannotGuardIsAnErrorAndAnotherANotice(t *testing.T) {
	w := newWorld(t)
	p := w.user("settings.json", `{"hooks":{"PreToolUse":[{"hooks":[{"type":"http","url":"x"}]}]}}`)
	w.fails(config.ExitConfig, p, "hooks.PreToolUse[0].hooks[0]", "unguarded")
	p = w.user("settings.json", `{"hooks":{"PostToolUse":[{"hooks":[{"type":"http","url":"x"}]}],"Stop":[{"hooks":[{"type":"command","command":"x","sandbox":"none"}]}]}}`)
	s := w.must()
	wantNotice(t, s, p, "hooks.PostToolUse[0].hooks[0] is not run")
	if len(s.Hooks) != 1 || !s.Hooks[0].Plain {
		t.Errorf("hooks %+v", s.Hooks)
	}
	w = newWorld(t)
	w.flags.Trust = true
	w.write(w.dir, ".oneloop/settings.json", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","sandbox":"none"}]}]}}`)
	if s := w.must(); len(s.Hooks) > 0 {
		t.Errorf("a folder has its hooks run outside of the sandbox: %+v", s.Hooks)
	} else {
		wantNotice(t, s, "the user's own settings")
	}
}
