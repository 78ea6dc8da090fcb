package catalog

// Provider is who answers for a model: a vendor's service, a platform that
// serves many vendors' models, a server on the user's own machine.
type Provider struct {
	Name    string
	API     string // as in a message's origin: "anthropic", "openai-chat", "openai-responses", "gemini", "ollama"
	Dialect string // of its form of that API, as package model/openai names them; empty: the API's own

	// BaseURL is where it is; with the version of the API where its paths have
	// one. Empty: the adapter's own.
	BaseURL string
	// Address is the variable that moves it elsewhere.
	Address string
	// Keys are the variables that hold its credential; the first that is set
	// counts.
	Keys []Key
	// Local is a server on the user's machine, which needs no key.
	Local bool
	// Through is the program beside this one by which it is asked, and which
	// finds the credentials.
	Through string

	Default string // the model when only the provider is known; empty: there is none
	Note    string // one line for people
}

// Key is a variable with a credential.
type Key struct {
	Variable string
	BaseURL  string // where keys of this kind are for, if not the provider's
}

// Variables are the names of p's keys.
func (p Provider) Variables() []string {
	names := make([]string, len(p.Keys))
	for i, k := range p.Keys {
		names[i] = k.Variable
	}
	return names
}

// The APIs, by the names they have in a message's origin.
const (
	Anthropic = "anthropic"
	Chat      = "openai-chat"
	Responses = "openai-responses"
	Gemini    = "gemini"
	Ollama    = "ollama"
)

var providers = [...]Provider{
	{Name: "anthropic", API: Anthropic, Address: "ANTHROPIC_BASE_URL", Default: "claude-sonnet-5-5",
		Keys: []Key{{Variable: "ANTHROPIC_API_KEY"}, {Variable: "ANTHROPIC_AUTH_TOKEN"}}},
	{Name: "openai", API: Responses, BaseURL: "https://api.openai.com/v1", Address: "OPENAI_BASE_URL", Default: "gpt-6.1-sol",
		Keys: []Key{{Variable: "OPENAI_API_KEY"}},
		Note: "the Responses API; Chat Completions where OPENAI_BASE_URL is set"},
	{Name: "openai-chat", API: Chat, BaseURL: "https://api.openai.com/v1", Address: "OPENAI_BASE_URL", Default: "gpt-6.1-sol",
		Keys: []Key{{Variable: "OPENAI_API_KEY"}}, Note: "Chat Completions, wherever it is"},
	{Name: "openai-responses", API: Responses, BaseURL: "https://api.openai.com/v1", Address: "OPENAI_BASE_URL", Default: "gpt-6.1-sol",
		Keys: []Key{{Variable: "OPENAI_API_KEY"}}, Note: "the Responses API, wherever it is"},
	{Name: "gemini", API: Gemini, BaseURL: "https://generativelanguage.googleapis.com", Address: "GEMINI_BASE_URL", Default: "gemini-3.8-flash",
		Keys: []Key{{Variable: "GEMINI_API_KEY"}, {Variable: "GOOGLE_API_KEY"}}},
	{Name: "deepseek", API: Chat, Dialect: "deepseek", BaseURL: "https://api.deepseek.com/v1", Address: "DEEPSEEK_BASE_URL", Default: "deepseek-v4-pro",
		Keys: []Key{{Variable: "DEEPSEEK_API_KEY"}}},
	{Name: "qwen", API: Chat, Dialect: "qwen", BaseURL: "https://dashscope.aliyuncs.com/compatible-mode/v1", Address: "DASHSCOPE_BASE_URL", Default: "qwen3.7-max",
		Keys: []Key{{Variable: "DASHSCOPE_API_KEY"}},
		Note: "the service in Beijing; elsewhere DASHSCOPE_BASE_URL is https://dashscope-intl.aliyuncs.com/compatible-mode/v1 or -us"},
	{Name: "kimi", API: Chat, Dialect: "kimi", BaseURL: "https://api.moonshot.ai/v1", Address: "MOONSHOT_BASE_URL", Default: "kimi-k3",
		Keys: []Key{{Variable: "MOONSHOT_API_KEY"}},
		Note: "the international service; for keys of the Chinese one MOONSHOT_BASE_URL is https://api.moonshot.cn/v1"},
	{Name: "glm", API: Chat, Dialect: "glm", BaseURL: "https://api.z.ai/api/paas/v4", Address: "ZAI_BASE_URL", Default: "glm-5.3",
		Keys: []Key{{Variable: "ZAI_API_KEY"}, {Variable: "ZHIPUAI_API_KEY", BaseURL: "https://open.bigmodel.cn/api/paas/v4"}},
		Note: "Z.ai with ZAI_API_KEY, BigModel with ZHIPUAI_API_KEY"},
	{Name: "groq", API: Chat, Dialect: "groq", BaseURL: "https://api.groq.com/openai/v1", Address: "GROQ_BASE_URL", Default: "openai/gpt-oss-120b",
		Keys: []Key{{Variable: "GROQ_API_KEY"}}},
	{Name: "openrouter", API: Chat, Dialect: "openrouter", BaseURL: "https://openrouter.ai/api/v1", Address: "OPENROUTER_BASE_URL",
		Keys: []Key{{Variable: "OPENROUTER_API_KEY"}}, Note: "models of many vendors, named vendor/model"},
	{Name: "bedrock", API: Anthropic, BaseURL: "http://oneloop-cloud", Through: "oneloop-cloud", Note: "Anthropic's models on Amazon Bedrock"},
	{Name: "vertex", API: Anthropic, BaseURL: "http://oneloop-cloud", Through: "oneloop-cloud", Note: "Anthropic's models on Google Vertex AI"},
	{Name: "ollama", API: Ollama, BaseURL: "http://127.0.0.1:11434", Address: "OLLAMA_HOST", Local: true,
		Keys: []Key{{Variable: "OLLAMA_API_KEY"}}},
	{Name: "vllm", API: Chat, Dialect: "vllm", BaseURL: "http://127.0.0.1:8000/v1", Address: "VLLM_BASE_URL", Local: true,
		Keys: []Key{{Variable: "VLLM_API_KEY"}}, Note: "started with --enable-auto-tool-choice and --tool-call-parser"},
	{Name: "llamacpp", API: Chat, Dialect: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", Address: "LLAMACPP_BASE_URL", Local: true,
		Keys: []Key{{Variable: "LLAMA_API_KEY"}}, Note: "llama-server, started with --jinja"},
	{Name: "lmstudio", API: Chat, Dialect: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1", Address: "LMSTUDIO_BASE_URL", Local: true,
		Keys: []Key{{Variable: "LM_API_TOKEN"}}},
}

// Providers returns every provider that is known.
func Providers() []Provider { return append([]Provider(nil), providers[:]...) }

// FindProvider returns the provider of that name.
func FindProvider(name string) (Provider, bool) {
	for _, p := range &providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}

// APIs are the names of the APIs a provider can have.
func APIs() []string { return []string{Anthropic, Chat, Responses, Gemini, Ollama} }
