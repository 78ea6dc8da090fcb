package config_test

import "testing"

func TestTheWebIsSearchedOnlyWhereTheUserSaysSo(t *testing.T) {
	for _, c := range []struct {
		name, own, project, flag string
		want                     bool
		notice                   string
	}{
		{"nothing", ``, ``, "", false, ""},
		{"settings", `{"webSearch":true}`, ``, "", true, ""},
		{"settings say no", `{"webSearch":false}`, ``, "", false, ""},
		{"flag", ``, ``, "true", true, ""},
		{"flag over settings", `{"webSearch":true}`, ``, "false", false, ""},
		{"the folder", ``, `{"webSearch":true}`, "", false, "webSearch"},
		{"denied", `{"permissions":{"deny":["WebSearch"]}}`, ``, "true", false, "WebSearch"},
		{"denied in part", `{"permissions":{"deny":["WebSearch(*)"]}}`, ``, "true", false, "WebSearch"},
		{"to be asked", `{"permissions":{"ask":["WebSearch"]}}`, ``, "true", false, "WebSearch"},
		{"allowed", `{"permissions":{"allow":["WebSearch"]}}`, ``, "", false, ""},
	} {
		w := newWorld(t, "ANTHROPIC_API_KEY=k")
		w.flags.Trust, w.flags.WebSearch = true, c.flag
		if c.own != "" {
			w.user("settings.json", c.own)
		}
		if c.project != "" {
			w.write(w.dir, ".oneloop/settings.json", c.project)
		}
		s := w.must()
		if s.WebSearch != c.want {
			t.Errorf("%s: %v", c.name, s.WebSearch)
		}
		if c.notice != "" {
			wantNotice(t, s, c.notice)
		} else if len(s.Notices) > 0 {
			t.Errorf("%s: %q", c.name, s.Notices)
		}
	}
	w := newWorld(t, "ANTHROPIC_API_KEY=k")
	w.user("settings.json", "{\n\"webSearch\":\"yes\"}")
	w.fails(3, "settings.json:2: webSearch must be true or false")
}
