package workspace

import (
	"runtime"
	"slices"
	"strings"
)

// credentials are the variables this program takes its own credentials from.
var credentials = []string{
	"ANTHROPIC_API_KEY",
	"ANTHROPIC_AUTH_TOKEN",
	"DASHSCOPE_API_KEY",
	"DEEPSEEK_API_KEY",
	"GEMINI_API_KEY",
	"GOOGLE_API_KEY",
	"GROQ_API_KEY",
	"LLAMA_API_KEY",
	"LM_API_TOKEN",
	"MOONSHOT_API_KEY",
	"OLLAMA_API_KEY",
	"OPENAI_API_KEY",
	"OPENROUTER_API_KEY",
	"VLLM_API_KEY",
	"ZAI_API_KEY",
	"ZHIPUAI_API_KEY",
}

// shortest is the length in bytes from which on a secret is looked for inside
// values. A shorter one ("test", "dummy") stands in too many of them by
// chance and is dropped only where it is the whole value.
const shortest = 8

// Scrub returns env without our own credentials: by name, and every variable
// whose value contains one of secrets.
func Scrub(env, secrets []string) []string {
	kept := make([]string, 0, len(env))
	for _, kv := range env {
		key, value, _ := strings.Cut(kv, "=")
		if slices.ContainsFunc(credentials, func(name string) bool { return sameKey(name, key) }) {
			continue
		}
		if slices.ContainsFunc(secrets, func(s string) bool {
			return s != "" && (value == s || len(s) >= shortest && strings.Contains(value, s))
		}) {
			continue
		}
		kept = append(kept, kv)
	}
	return kept
}

func sameKey(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// mergeEnv returns env with more added in the place of entries of the same
// key: programs differ in which of two they take. env has each key once.
func mergeEnv(env []string, more ...string) []string {
	out := make([]string, 0, len(env)+len(more))
	for _, kv := range env {
		if !overridden(kv, more) {
			out = append(out, kv)
		}
	}
	for i, kv := range more {
		if !overridden(kv, more[i+1:]) {
			out = append(out, kv)
		}
	}
	return out
}

func overridden(kv string, by []string) bool {
	key, _, _ := strings.Cut(kv, "=")
	return slices.ContainsFunc(by, func(other string) bool {
		k, _, _ := strings.Cut(other, "=")
		return sameKey(k, key)
	})
}

func envValue(env []string, key string) string {
	for _, kv := range slices.Backward(env) {
		if k, v, _ := strings.Cut(kv, "="); sameKey(k, key) {
			return v
		}
	}
	return ""
}
