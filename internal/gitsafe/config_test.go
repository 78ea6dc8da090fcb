package gitsafe_test

import (
	"strings"
	"testing"

	"oneloop/internal/gitsafe"
)

func TestStrongSettingsAreThoseGitWouldSee(t *testing.T) {
	for _, c := range []struct{ text, strong string }{
		{"[core]\n\tbare = false\n[user]\n name = a\n[color]\n ui=always\n[remote \"o\"]\nurl = https://example.org/x\n", ""},
		{"[color] [core] fsmonitor = X", "core.fsmonitor=X"},
		{"[color] ui = x\n[core] fsmonitor", "core.fsmonitor=true"},
		{"[CORE]FsMonitor=\"X\" Y # z", "core.fsmonitor=X Y"},
		{"[user] name = a \\\n b\n[alias] st = !x", "alias.st=!x"},
		{"[user]\nname = a # \\\n[core]\npager = x", "core.pager=x"},
		{"[gc]\nauto = 0\nrecentObjectsHook = x", "gc.recentobjectshook=x"},
		{"[includeIf \"gitdir:x]y\"] path = z", "includeif.gitdir:x]y.path=z"},
		{"[include.x] path = z", "include.x.path=z"},
		{"[remote \"o\"] url = \"ext\"::sh", "remote.o.url=ext::sh"},
		{"[remote \"o\"] url = https://[::1]/x", ""},
		{"[submodule \"o\"] update = !x\n[submodule \"p\"] update = merge", "submodule.o.update=!x"},
		{"[user]\nname = \"a\n[core] pager = x", "a line that cannot be read"},
		{"[user\nname = a", "a line that cannot be read"},
		{"x = y", ".x=y a line that cannot be read"},
		{"[user]\r\nname = a\r\n[core]\r\npager = x\r\n", "core.pager=x"},
		{"\ufeff[core] editor = x", "core.editor=x"},
		{"[user] name = a\x00\n", "a line that cannot be read"},
	} {
		if got := strings.Join(gitsafe.Strong(c.text), " "); got != c.strong {
			t.Errorf("%q: %q, want %q", c.text, got, c.strong)
		}
	}
}
