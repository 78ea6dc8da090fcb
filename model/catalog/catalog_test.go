package catalog_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"oneloop/model/catalog"
)

func TestEveryModelIsFoundByItsIDAndIsWhole(t *testing.T) {
	for _, m := range catalog.All() {
		got, ok := catalog.Find(m.Provider + "/" + m.ID)
		if !ok || got.ID != m.ID {
			t.Errorf("Find(%q) = %q, %v", m.ID, got.ID, ok)
		}
		if m.Provider == "" || m.Context <= 0 || m.MaxOutput <= 0 || m.MaxOutput > m.Context {
			t.Errorf("%s: provider %q, window %d, output %d", m.ID, m.Provider, m.Context, m.MaxOutput)
		}
		claude := m.Provider == "anthropic"
		if p := m.Price; p.Known && !(0 < p.CacheRead && p.CacheRead <= p.Input && p.Input <= p.CacheWrite5m &&
			p.CacheWrite5m <= p.CacheWrite1h && p.CacheWrite1h < p.Output && (p.Above == 0 || p.Times > 1)) {
			t.Errorf("%s: prices out of order: %+v", m.ID, p)
		}
		if p := m.Price; claude && p.Known && !(p.CacheRead < p.Input && p.Input < p.CacheWrite5m && p.CacheWrite5m < p.CacheWrite1h) {
			t.Errorf("%s: prices of the cache out of order: %+v", m.ID, p)
		}
		if !m.Price.Known && m.Price != (catalog.Price{}) {
			t.Errorf("%s: a price that is not known has numbers: %+v", m.ID, m.Price)
		}
		if in, ok := catalog.FindIn(m.Provider, m.ID); !ok || in.ID != m.ID {
			t.Errorf("FindIn(%q, %q) = %q, %v", m.Provider, m.ID, in.ID, ok)
		}
		if claude && m.Hidden && m.Thinking != catalog.Adaptive {
			t.Errorf("%s hides its reasoning and cannot be asked for it", m.ID)
		}
		if claude && (m.Effort == "") != (len(m.Efforts) == 0) || m.Effort != "" && !slices.Contains(m.Efforts, m.Effort) {
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

func TestAProviderHasItsOwnModelsAndUnknownOnesASafeDefault(t *testing.T) {
	for _, c := range []struct {
		provider, id, want string
		known, priced      bool
	}{
		{"openai", "gpt-6.1-sol", "gpt-6.1-sol", true, true},
		{"openai-chat", "gpt-6.1-sol", "gpt-6.1-sol", true, true},
		{"openai-responses", "gpt-4o-2024-08-06", "gpt-4o", true, true},
		{"openai", "gpt-5.4-mini", "gpt-5.4-mini", true, true},
		{"openai", "gpt-5.4-nano", "gpt-5.4-nano", false, false}, // no other model's price
		{"openai", "gpt-6.1-sol-2026-13", "gpt-6.1-sol-2026-13", false, false},
		{"openai", "deepseek-v4-pro", "deepseek-v4-pro", false, false},
		{"groq", "openai/gpt-oss-120b", "openai/gpt-oss-120b", true, true},
		{"openrouter", "anthropic/claude-opus-4.8", "anthropic/claude-opus-4.8", true, false},
		{"openrouter", "deepseek/deepseek-v4-pro:free", "deepseek/deepseek-v4-pro:free", true, false},
		{"ollama", "qwen3:8b", "qwen3:8b", false, false},
		{"anthropic", "claude-opus-4-8", "claude-opus-4-8", true, true},
	} {
		m, ok := catalog.FindIn(c.provider, c.id)
		if m.ID != c.want || ok != c.known || m.Price.Known != c.priced || m.Context <= 0 {
			t.Errorf("FindIn(%q, %q) = %+v, %v", c.provider, c.id, m, ok)
		}
	}
	if m, ok := catalog.Find("deepseek/deepseek-v4-pro"); !ok || m.Provider != "deepseek" {
		t.Errorf("by its whole name: %+v, %v", m, ok)
	}
	if m, ok := catalog.Find("ollama/claude-opus-5"); ok || m.Price.Known || m.ID != "ollama/claude-opus-5" {
		t.Errorf("a local model of a known name has another's price: %+v", m)
	}
}

func TestABareNameIsOfTheProvidersThatHaveIt(t *testing.T) {
	for name, want := range map[string][]string{
		"gpt-6.1-sol": {"openai"}, "glm-5.3": {"glm"}, "claude-opus-5": {"anthropic"}, "mistral-9": nil,
	} {
		if got := catalog.Providing(name); !slices.Equal(got, want) {
			t.Errorf("Providing(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestAPriceEndsWithItsLastDay(t *testing.T) {
	m, _ := catalog.FindIn("gemini", "gemini-3.8-flash")
	if p := m.Price.On("2026-12-31"); !p.Known {
		t.Error("it is not known on its last day")
	}
	if p := m.Price.On("2027-01-01"); p.Known || p.Input != 0 {
		t.Errorf("on the day after it is %+v", p)
	}
}

func TestProvidersAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range catalog.Providers() {
		if seen[p.Name] || !slices.Contains(catalog.APIs(), p.API) || p.Through == "" && (p.Address == "" || len(p.Keys) == 0) || strings.Contains(p.Name, "/") {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		if m, ok := catalog.FindIn(p.Name, p.Default); p.Default != "" && !ok {
			t.Errorf("the default of %s is %+v, which is not in its list", p.Name, m)
		}
	}
}

func TestAFileOverridesWhatIsKnown(t *testing.T) {
	b, err := catalog.Read([]byte(`{"models":[
	{"id":"deepseek/deepseek-v4-pro","price":{"input":1,"output":2},"maxOutput":1000},
	{"id":"here/mine","context":32000,"images":true,"reasoning":false,"efforts":["low"]},
	{"id":"claude-opus-5","price":null}]}`))
	if err != nil {
		t.Fatal(err)
	}
	m, ok := b.FindIn("deepseek", "deepseek-v4-pro")
	if !ok || m.Price.Input != 1 || m.Price.CacheRead != 1 || m.Price.Most || m.MaxOutput != 1000 || m.Context != 1_000_000 {
		t.Errorf("%+v, %v", m, ok)
	}
	if m, ok := b.Find("here/mine"); !ok || m.Context != 32000 || m.Images != catalog.Yes || m.Reasoning != catalog.No || m.Price.Known {
		t.Errorf("%+v, %v", m, ok)
	}
	if m, ok := b.Find("claude-opus-5"); !ok || m.Price.Known || m.Context != 1_000_000 {
		t.Errorf("%+v, %v", m, ok)
	}
	if m, ok := b.Find("claude-opus-4-8"); !ok || !m.Price.Known {
		t.Errorf("%+v, %v", m, ok)
	}
	if got := b.Providing("mine"); !slices.Equal(got, []string{"here"}) {
		t.Errorf("Providing = %q", got)
	}
	var none *catalog.Book
	if m, ok := none.Find("gpt-6.1-sol"); !ok || m.Provider != "openai" {
		t.Errorf("without a file: %+v", m)
	}
}

func TestAFileThatCannotBeReadNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"models\": [\n{\"id\": 3}]}":                           "line 3",
		"{\n\"models\": [}":                                         "line 2",
		"{\"models\":[\n{\"id\":\"a/b\",\"window\":3}]}":            "window",
		"{\"models\":[\n{\"context\":3}]}":                          "line 2",
		"{\"models\":[\n\n{\"id\":\"a/b\",\"context\":-3}]}":        "line 3",
		"{\"models\":[{\"id\":\"a/b\",\n\"price\":{\"input\":1}}]}": "output",
	} {
		if _, err := catalog.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}
