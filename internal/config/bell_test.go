package config_test

import (
	"testing"
	"time"

	"oneloop/internal/config"
)

func TestTheBellRingsForThoseWhoAskForItOnly(t *testing.T) {
	for _, c := range []struct {
		name, own, project, flag string
		want                     time.Duration
		notice                   string
	}{
		{"nothing", ``, ``, "", 0, ""},
		{"settings", `{"bell":true}`, ``, "", config.BellAfter, ""},
		{"settings in seconds", `{"bell":30}`, ``, "", 30 * time.Second, ""},
		{"flag over settings", `{"bell":30}`, ``, "false", 0, ""},
		{"flag in seconds", ``, ``, "1.5", 1500 * time.Millisecond, ""},
		{"no number", ``, ``, "NaN", 0, ""}, // the command line refuses it
		{"the folder", ``, `{"bell":true}`, "", 0, "bell"},
	} {
		w := newWorld(t, "ANTHROPIC_API_KEY=k")
		w.flags.Trust, w.flags.Bell = true, c.flag
		if c.own != "" {
			w.user("settings.json", c.own)
		}
		if c.project != "" {
			w.write(w.dir, ".oneloop/settings.json", c.project)
		}
		s := w.must()
		if s.Bell != c.want {
			t.Errorf("%s: %v", c.name, s.Bell)
		}
		if c.notice != "" {
			wantNotice(t, s, c.notice)
		} else if len(s.Notices) > 0 {
			t.Errorf("%s: %q", c.name, s.Notices)
		}
	}
	for _, bad := range []string{`"yes"`, `0`, `-1`, `0.01`, `1e99`, `[]`} {
		w := newWorld(t, "ANTHROPIC_API_KEY=k")
		w.user("settings.json", "{\n\"bell\":"+bad+"}")
		w.fails(3, "settings.json:2: bell must be true, false or a number of seconds")
	}
}
