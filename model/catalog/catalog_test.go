package catalog_test

import (
	"math"
	"strings"
	"testing"

	"oneloop/model/catalog"
)

func TestEveryModelIsFoundByItsIDAndIsWhole(t *testing.T) {
	for _, m := range catalog.All() {
		got, ok := catalog.Find(m.ID)
		if !ok || got.ID != m.ID {
			t.Errorf("Find(%q) = %q, %v", m.ID, got.ID, ok)
		}
		if m.Provider == "" || m.Context <= 0 || m.MaxOutput <= 0 || m.MaxOutput > m.Context {
			t.Errorf("%s: provider %q, window %d, output %d", m.ID, m.Provider, m.Context, m.MaxOutput)
		}
		if p := m.Price; p.Known && !(0 < p.CacheRead && p.CacheRead < p.Input && p.Input < p.CacheWrite5m &&
			p.CacheWrite5m < p.CacheWrite1h && p.CacheWrite1h < p.Output) {
			t.Errorf("%s: prices out of order: %+v", m.ID, p)
		}
		if m.Hidden && m.Thinking != catalog.Adaptive {
			t.Errorf("%s hides its reasoning and cannot be asked for it", m.ID)
		}
		if (m.Effort == "") != (len(m.Efforts) == 0) {
			t.Errorf("%s: effort %q of %q", m.ID, m.Effort, m.Efforts)
		}
	}
}

func TestFindTakesALongerIDForTheLongestKnownOneInside(t *testing.T) {
	for id, want := range map[string]string{
		"aws-claude-sonnet-4-6":                        "claude-sonnet-4-6",
		"us.anthropic.claude-opus-4-6-v1":              "claude-opus-4-6",
		"anthropic.claude-3-haiku-20240307-v1:0":       "claude-3-haiku-20240307",
		"claude-3-haiku@20240307":                      "claude-3-haiku-20240307",
		"claude-opus-4-5@20251101":                     "claude-opus-4-5",
		"claude-opus-4-5-20251101":                     "claude-opus-4-5",
		"us.anthropic.claude-haiku-4-5-20251001-v1:0":  "claude-haiku-4-5-20251001",
		"anthropic/claude-opus-4.8":                    "claude-opus-4-8",
		"claude-sonnet-5-5[1m]":                        "claude-sonnet-5-5",
		"claude-opus-5-5-fast":                         "claude-opus-5-5",
		"arn:aws:bedrock:::profile/Claude-Sonnet-5-v1": "claude-sonnet-5",
	} {
		if m, ok := catalog.Find(id); !ok || m.ID != want {
			t.Errorf("Find(%q) = %q, %v, want %q", id, m.ID, ok, want)
		}
	}
}

func TestFindGivesASafeDefaultForWhatItDoesNotKnow(t *testing.T) {
	for _, id := range []string{
		"", "mock-model", "gpt-7", "claude-opus-5-9", "claude-opus-4-80", "claude-sonnet-55", "claude-sonnet-4-20250514",
		"notclaude-opus-5", "claude-opus-5x",
	} {
		m, ok := catalog.Find(id)
		if ok || m.ID != id || m.Context != 200_000 || m.MaxOutput != 8192 || m.Price.Known || m.Thinking != catalog.NoThinking || m.Efforts != nil {
			t.Errorf("Find(%q) = %+v, %v", id, m, ok)
		}
	}
}

func TestDefaultIsTheNewestSonnet(t *testing.T) {
	newest := ""
	for _, m := range catalog.All() {
		if strings.HasPrefix(m.ID, "claude-sonnet-") && m.ID > newest {
			newest = m.ID
		}
	}
	if got := catalog.Default().ID; got != newest {
		t.Errorf("Default() = %q, the newest Sonnet is %q", got, newest)
	}
}

func TestCostAddsEveryKindOfTokenAndKnowsTheLongPromptRule(t *testing.T) {
	sonnet, _ := catalog.Find("claude-sonnet-4-6")
	haiku, _ := catalog.Find("claude-haiku-5-5")
	for _, c := range []struct {
		name string
		got  float64
		want float64
	}{
		{"all kinds", sonnet.Price.Cost(1e6, 1e6, 1e6, 1e6, 1e6), 3 + 0.3 + 3.75 + 6 + 15},
		{"short prompt", haiku.Price.Cost(50_000, 30_000, 10_000, 10_000, 1000), 0.005 + 0.0003 + 0.00125 + 0.002 + 0.0005},
		{"long prompt", haiku.Price.Cost(50_001, 30_000, 10_000, 10_000, 1000), 5 * (0.0050001 + 0.0003 + 0.00125 + 0.002 + 0.0005)},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
