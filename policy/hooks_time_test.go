package policy

import (
	"testing"
	"time"
)

func TestHooksAtTheEndHaveLittleTimeUnlessTheySetIt(t *testing.T) {
	for _, c := range []struct {
		hook HookCommand
		want time.Duration
	}{
		{HookCommand{Event: SessionEnd}, EndHookTime},
		{HookCommand{Event: SessionEnd, Timeout: time.Hour}, time.Hour},
		{HookCommand{Event: Stop}, DefaultHookTime},
	} {
		if got := c.hook.timeout(); got != c.want {
			t.Errorf("%v has %v, want %v", c.hook.Event, got, c.want)
		}
	}
}
