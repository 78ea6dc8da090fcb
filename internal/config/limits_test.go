package config_test

import (
	"testing"

	"oneloop/internal/config"
)

func TestLimitsOfTheSandboxAreReadWithTheirUnits(t *testing.T) {
	w := newWorld(t)
	w.user("settings.json", `{"sandbox":{"mode":"ns","limits":{"processes":500,"memory":"2GiB","file":"10 mb","disk":536870912,"colour":1}}}`)
	s := w.must()
	if want := (config.Limits{Processes: 500, Memory: 2 << 30, File: 10e6, Disk: 512 << 20}); s.Limits != want || s.Sandbox != "ns" {
		t.Errorf("%+v, want %+v", s.Limits, want)
	}
	wantNotice(t, s, "sandbox.limits.colour", "does not know")
	w.user("settings.json", `{"sandbox":{"limits":{"processes":"none","memory":null,"file":"none"}}}`)
	if s, want := w.must(), (config.Limits{Processes: -1, File: -1}); s.Limits != want {
		t.Errorf("%+v, want %+v", s.Limits, want)
	}
}

func TestAFolderLowersLimitsAndRaisesNone(t *testing.T) {
	w := newWorld(t)
	w.user("settings.json", `{"sandbox":{"limits":{"memory":"2GiB","file":"none"}}}`)
	shared := w.write(w.dir, ".oneloop/settings.json", `{"sandbox":{"limits":{"processes":5000,"memory":"1GiB","file":"1MiB","disk":"none"}}}`)
	w.answering(true)
	s := w.must()
	if want := (config.Limits{Memory: 1 << 30, File: 1 << 20}); s.Limits != want {
		t.Errorf("%+v, want %+v", s.Limits, want)
	}
	wantNotice(t, s, shared, "sandbox.limits.disk, sandbox.limits.processes", "only the user's own")
}

func TestAMistakeInTheLimitsNamesItsFileAndWhatIsRight(t *testing.T) {
	for text, says := range map[string]string{
		`[1]`:                                  "must be an object",
		`{"processes":"many"}`:                 `"many" is not a number`,
		`{"processes":300}`:                    "301 at least",
		`{"processes":5000000}`:                "up to 4194304",
		`{"memory":4096}`:                      "4096 is too small, it must be 64 MiB at least",
		`{"memory":"2 gigs"}`:                  `"512MiB"`,
		`{"memory":-1}`:                        `"none" is no limit`,
		"{\n\"file\":\"1.5GiB\"}":              ":2: sandbox.limits.file",
		`{"disk":"9999999999TiB"}`:             "is not a size",
		`{"disk":{"size":1}}`:                  "is not a size",
		`{"disk":"-9223372036854775808"}`:      "is not a size",
		`{"disk":"1KiB"}`:                      "1 MiB at least",
		`{"memory":"99999999999999999999999"}`: "is not a size",
	} {
		w := newWorld(t)
		p := w.user("settings.json", `{"sandbox":{"limits":`+text+`}}`)
		w.fails(config.ExitConfig, p, says)
	}
}
