package openai

import (
	"slices"
	"strings"
	"time"

	"oneloop/internal/rawjson"
	"oneloop/model/catalog"
)

// ending is how long what follows the reason why a model stopped is waited for:
// the usage comes behind it.
const ending = 2 * time.Second

// Dialect is how a server of Chat Completions differs from others: data only.
type Dialect struct {
	Name    string
	BaseURL string // of its provider; empty: there is none
	Hosts   string // by which it is known, as parts of names, with spaces between
	Echo    Echo   // when reasoning goes back
	Needed  Echo   // the messages that are refused without reasoning_content, if only an empty one

	Completion bool   // the output limit is max_completion_tokens
	Developer  bool   // the system prompt of a model that reasons is of the role developer
	Usage      bool   // usage has to be asked for
	Tools      string // fields of requests with tools
	Think      bool   // old servers show reasoning as <think>…</think> in the text
	CacheKey   bool   // a key helps requests of one conversation to the same cache
	Cached     string // how the names begin of models whose prompts are cached only if it is asked for
	Counted    bool   // ids of calls have the form functions.NAME:N
	Documents  bool   // takes PDF files

	Reason  string // fields that turn reasoning on
	Level   string // the field for how much, with $ for the level
	Leveled bool   // every model has levels, not only those that are known to
	Most    string // the highest level, if it is not "max"
	Budget  string // the field for how many tokens, with $ for them, of models that have no levels

	Keep  string // Reason, and that reasoning that went back is read; unasked it is thrown away
	Keeps string // how the names begin of models that know that, with spaces between
}

// Echo says which reasoning of the same model goes back with a message.
type Echo int

const (
	EchoNever Echo = iota
	EchoCalls      // that of messages with calls, in all later requests
	EchoAlways
)

// holds reports whether it holds for a message with or without calls.
func (e Echo) holds(calls bool) bool { return e == EchoAlways || e == EchoCalls && calls }

// Dialects are those known, the first being OpenAI's own and the last one what
// is taken for a server that nothing is known of. Sources: the providers'
// documentation and recorded traffic, November 2026.
func Dialects() []Dialect {
	const effort = `"reasoning_effort":$`
	const thinking = `"thinking":{"type":"enabled"}`
	return []Dialect{
		{Name: "openai", BaseURL: DefaultBaseURL, Hosts: "api.openai.com openai.azure.com", Completion: true, Developer: true, Usage: true,
			Level: effort, CacheKey: true, Documents: true},
		{Name: "deepseek", BaseURL: "https://api.deepseek.com", Hosts: "deepseek.com", Echo: EchoAlways, Needed: EchoAlways, Usage: true,
			Reason: thinking, Level: effort, Leveled: true},
		{Name: "qwen", BaseURL: "https://dashscope.aliyuncs.com/compatible-mode/v1", Hosts: "aliyuncs.com", Echo: EchoCalls, Usage: true,
			Tools: `"parallel_tool_calls":true`, Reason: `"enable_thinking":true`, Level: effort, Most: "xhigh", Budget: `"thinking_budget":$`},
		{Name: "kimi", BaseURL: "https://api.moonshot.cn/v1", Hosts: "moonshot.cn moonshot.ai kimi.com", Echo: EchoAlways, Needed: EchoCalls, Usage: true,
			Reason: thinking, Level: effort, CacheKey: true, Counted: true},
		{Name: "glm", BaseURL: "https://open.bigmodel.cn/api/paas/v4", Hosts: "bigmodel.cn z.ai", Echo: EchoAlways, Usage: true,
			Tools: `"tool_stream":true`, Reason: thinking, Level: effort,
			Keep: `"thinking":{"type":"enabled","clear_thinking":false}`, Keeps: "glm-4.7 glm-5"},
		{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", Hosts: "groq.com", Echo: EchoCalls, Completion: true, Usage: true, Level: effort, Most: "high"},
		{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", Hosts: "openrouter.ai", Echo: EchoAlways, Usage: true,
			Level: `"reasoning":{"effort":$}`, Leveled: true, Cached: "anthropic/", Documents: true},
		{Name: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Hosts: "googleapis.com", Usage: true,
			Level: effort, Leveled: true, Most: "high"},
		{Name: "vllm", BaseURL: "http://127.0.0.1:8000/v1", Echo: EchoCalls, Usage: true, Level: effort, Think: true},
		{Name: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", Echo: EchoCalls, Usage: true, Level: `"chat_template_kwargs":{"reasoning_effort":$}`, Think: true},
		{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1", Echo: EchoCalls, Usage: true, Level: effort, Think: true},
		{Name: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Echo: EchoCalls, Usage: true, Level: effort, Think: true},
		{Name: "compatible", Echo: EchoCalls, Usage: true, Level: effort, Think: true},
	}
}

// findDialect is the dialect of this name, or without one that of a host.
func findDialect(name, host string) (Dialect, bool) {
	all := Dialects()
	if name != "" {
		i := slices.IndexFunc(all, func(d Dialect) bool { return d.Name == name })
		if i < 0 {
			return Dialect{}, false
		}
		return all[i], true
	}
	for _, d := range all {
		for part := range strings.FieldsSeq(d.Hosts) {
			if host == part || strings.HasSuffix(host, "."+part) {
				return d, true
			}
		}
	}
	return all[len(all)-1], true
}

// reasons reports whether a model of OpenAI's takes an effort and a developer's
// prompt: those that do not refuse both.
func reasons(model string) bool {
	for _, begin := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6", "codex", "gpt-oss"} {
		if strings.HasPrefix(model, begin) && !strings.Contains(model, "-chat") {
			return true
		}
	}
	return false
}

// effort is how this much reasoning is asked for, as fields of a request; empty:
// as usual. Where a model has no levels that are known here, it is only asked to
// reason, if that can be asked for: then level is false. One that is known not
// to reason is asked nothing.
func (d Dialect) effort(model string, known catalog.Model, effort string) (fields []string, level bool) {
	if known.Reasoning == catalog.No {
		return nil, false
	}
	level = d.Leveled || len(known.Efforts) > 0 || d.Developer && reasons(model) || strings.Contains(model, "gpt-oss")
	switch {
	case d.keeps(model):
		fields = append(fields, d.Keep)
	case effort != "" && d.Reason != "" && (d.Leveled || !level || d.Name != "kimi"): // Kimi's models have one or the other
		fields = append(fields, d.Reason)
	}
	switch {
	case effort == "":
		return fields, false
	case level:
		if d.Most != "" && (effort == "xhigh" || effort == "max") {
			effort = d.Most
		}
		return append(fields, strings.Replace(d.Level, "$", string(rawjson.AppendString(nil, effort)), 1)), true
	case d.Budget != "":
		if n := budgets[effort]; n != "" {
			fields = append(fields, strings.Replace(d.Budget, "$", n, 1))
		}
		return fields, true
	}
	return fields, false
}

// budgets are levels as tokens, as Google counts its own. The highest ones have
// no bound but the model's.
var budgets = map[string]string{"low": "2048", "medium": "8192", "high": "24576"}

// keeps reports whether a model reads the reasoning of earlier turns when it is
// asked to.
func (d Dialect) keeps(model string) bool {
	for begin := range strings.FieldsSeq(d.Keeps) {
		if strings.HasPrefix(model, begin) {
			return true
		}
	}
	return false
}

// known is what the catalogue says of a model, here or elsewhere.
func (d Dialect) known(model string) catalog.Model {
	m, ok := catalog.FindIn(d.Name, model)
	if !ok {
		m, _ = catalog.Find(model)
	}
	return m
}
