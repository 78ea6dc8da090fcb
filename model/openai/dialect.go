package openai

import (
	"slices"
	"strings"
	"time"
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
	Needed  bool   // a message with calls is refused without reasoning_content, if only an empty one

	Completion bool   // the output limit is max_completion_tokens
	Developer  bool   // the system prompt of a model that reasons is of the role developer
	Usage      bool   // usage has to be asked for
	Effort     string // how more or less reasoning is asked for, see effortJSON
	Think      bool   // old servers show reasoning as <think>…</think> in the text
	CacheKey   bool   // a key helps requests of one conversation to the same cache
	Counted    bool   // ids of calls have the form functions.NAME:N
	Documents  bool   // takes PDF files
}

// Echo says which reasoning of the same model goes back with a message.
type Echo int

const (
	EchoNever Echo = iota
	EchoCalls      // that of messages with calls, in all later requests
	EchoAlways
)

// Dialects are those known, the first being OpenAI's own and the last one what
// is taken for a server that nothing is known of. Sources: the providers'
// documentation and recorded traffic, November 2026.
func Dialects() []Dialect {
	return []Dialect{
		{Name: "openai", BaseURL: DefaultBaseURL, Hosts: "api.openai.com openai.azure.com", Completion: true, Developer: true, Usage: true,
			Effort: "reasoning_effort", CacheKey: true, Documents: true},
		{Name: "deepseek", BaseURL: "https://api.deepseek.com", Hosts: "deepseek.com", Echo: EchoCalls, Needed: true, Usage: true, Effort: "thinking"},
		{Name: "qwen", BaseURL: "https://dashscope.aliyuncs.com/compatible-mode/v1", Hosts: "aliyuncs.com", Echo: EchoCalls, Usage: true, Effort: "enable_thinking"},
		{Name: "kimi", BaseURL: "https://api.moonshot.cn/v1", Hosts: "moonshot.cn moonshot.ai kimi.com", Echo: EchoCalls, Needed: true, Usage: true, Effort: "thinking",
			CacheKey: true, Counted: true},
		{Name: "glm", BaseURL: "https://open.bigmodel.cn/api/paas/v4", Hosts: "bigmodel.cn z.ai", Echo: EchoCalls, Usage: true, Effort: "thinking"},
		{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", Hosts: "groq.com", Echo: EchoCalls, Completion: true, Usage: true, Effort: "groq"},
		{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", Hosts: "openrouter.ai", Echo: EchoAlways, Usage: true, Effort: "reasoning", Documents: true},
		{Name: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Hosts: "googleapis.com", Usage: true, Effort: "reasoning_effort"},
		{Name: "vllm", BaseURL: "http://127.0.0.1:8000/v1", Echo: EchoCalls, Usage: true, Think: true},
		{Name: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", Echo: EchoCalls, Usage: true, Think: true},
		{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1", Echo: EchoCalls, Usage: true, Think: true},
		{Name: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Echo: EchoCalls, Usage: true, Think: true},
		{Name: "compatible", Echo: EchoCalls, Usage: true, Think: true},
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

// effortJSON is how this much reasoning is asked for, as fields of a request with
// commas before them; empty where it is not known how.
func (d Dialect) effortJSON(model, effort string) string {
	level := effort
	if effort == "max" {
		level = "xhigh"
	}
	switch d.Effort {
	case "reasoning_effort":
		if d.Developer && !reasons(model) {
			return ""
		}
		if d.Name == "gemini" && level == "xhigh" {
			level = "high"
		}
		return `,"reasoning_effort":"` + level + `"`
	case "reasoning":
		return `,"reasoning":{"effort":"` + level + `"}`
	case "thinking":
		return `,"thinking":{"type":"enabled"}`
	case "enable_thinking":
		return `,"enable_thinking":true`
	case "groq":
		if !strings.Contains(model, "gpt-oss") {
			return ""
		}
		if level == "xhigh" {
			level = "high"
		}
		return `,"reasoning_effort":"` + level + `"`
	}
	return ""
}
