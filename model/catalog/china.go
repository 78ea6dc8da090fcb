package catalog

// Sources, as of Date, for the most part one for each line and some of them at
// second hand; what is said of older models was not looked up again. DeepSeek:
// its pricing page, whose prices halve outside the working hours of Beijing; the
// higher ones stand here. Kimi: the pricing page of the international service.
// GLM: the pricing table of Z.ai, as an article of 2026-08-19 quotes it, and
// that of the year before. Qwen: windows only, and the levels of qwen3.8-max as
// lists of other services have them; its prices are in yuan, in steps by the
// length of the prompt, and other in each region. Groq: its model and pricing
// pages. Where only the whole window bounds a reply, a smaller number stands
// here, for the prompt must fit beside it.

var deepseeks = [...]Model{
	{ID: "deepseek-v4-pro", Provider: "deepseek", Context: 1_000_000, MaxOutput: 384_000, Images: No, Reasoning: Yes, Efforts: highMax,
		Price: Price{Known: true, Input: 1.32, Output: 3.96, CacheRead: 0.044, CacheWrite5m: 1.32, CacheWrite1h: 1.32, Most: true}},
	{ID: "deepseek-flash", Provider: "deepseek", Context: 1_000_000, MaxOutput: 384_000, Images: Yes, Reasoning: Yes, Efforts: ofKimi,
		Price: Price{Known: true, Input: 0.30, Output: 1.20, CacheRead: 0.006, CacheWrite5m: 0.30, CacheWrite1h: 0.30, Most: true}},
	// The earlier name of deepseek-flash.
	{ID: "deepseek-v4-flash", Provider: "deepseek", Context: 1_000_000, MaxOutput: 384_000, Images: Yes, Reasoning: Yes, Efforts: ofKimi,
		Price: Price{Known: true, Input: 0.30, Output: 1.20, CacheRead: 0.006, CacheWrite5m: 0.30, CacheWrite1h: 0.30, Most: true}},
}

var qwens = [...]Model{
	{ID: "qwen3.8-max", Provider: "qwen", Context: 991_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: []string{"low", "medium", "xhigh"}, Effort: "xhigh"},
	{ID: "qwen3.7-max", Provider: "qwen", Context: 991_000, MaxOutput: 32_768, Reasoning: Yes},
	{ID: "qwen3.7-plus", Provider: "qwen", Context: 991_000, MaxOutput: 32_768, Images: Yes, Reasoning: Yes},
	{ID: "qwen3-max", Provider: "qwen", Context: 262_144, MaxOutput: 32_768, Images: No},
	{ID: "qwen3-coder-plus", Provider: "qwen", Context: 991_000, MaxOutput: 65_536, Images: No, Reasoning: No},
}

var kimis = [...]Model{
	{ID: "kimi-k3.1-pro", Provider: "kimi", Context: 1_000_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: ofKimi},
	{ID: "kimi-k3", Provider: "kimi", Context: 1_048_576, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: ofKimi,
		Price: Price{Known: true, Input: 3, Output: 15, CacheRead: 0.30, CacheWrite5m: 3, CacheWrite1h: 3}},
	{ID: "kimi-k2.7-code", Provider: "kimi", Context: 262_144, MaxOutput: 32_768, Reasoning: Yes},
	{ID: "kimi-k2.6", Provider: "kimi", Context: 262_144, MaxOutput: 32_768, Images: Yes, Reasoning: Yes,
		Price: Price{Known: true, Input: 0.95, Output: 4, CacheRead: 0.16, CacheWrite5m: 0.95, CacheWrite1h: 0.95}},
}

var glms = [...]Model{
	{ID: "glm-5.3", Provider: "glm", Context: 1_000_000, MaxOutput: 128_000, Images: No, Reasoning: Yes, Efforts: ofKimi, Effort: "max",
		Price: Price{Known: true, Input: 1.40, Output: 4.40, CacheRead: 0.26, CacheWrite5m: 1.40, CacheWrite1h: 1.40}},
	{ID: "glm-5.2", Provider: "glm", Context: 1_000_000, MaxOutput: 128_000, Images: No, Reasoning: Yes, Efforts: highMax, Effort: "max",
		Price: Price{Known: true, Input: 1.40, Output: 4.40, CacheRead: 0.26, CacheWrite5m: 1.40, CacheWrite1h: 1.40}},
	{ID: "glm-5.1", Provider: "glm", Context: 204_800, MaxOutput: 128_000, Images: No, Reasoning: Yes,
		Price: Price{Known: true, Input: 1.40, Output: 4.40, CacheRead: 0.26, CacheWrite5m: 1.40, CacheWrite1h: 1.40}},
	{ID: "glm-5", Provider: "glm", Context: 200_000, MaxOutput: 128_000, Images: No, Reasoning: Yes},
	{ID: "glm-4.7", Provider: "glm", Context: 200_000, MaxOutput: 128_000, Images: No, Reasoning: Yes},
	{ID: "glm-4.6", Provider: "glm", Context: 200_000, MaxOutput: 128_000, Images: No, Reasoning: Yes,
		Price: Price{Known: true, Input: 0.60, Output: 2.20, CacheRead: 0.11, CacheWrite5m: 0.60, CacheWrite1h: 0.60}},
}

var groqs = [...]Model{
	{ID: "openai/gpt-oss-120b", Provider: "groq", Context: 131_072, MaxOutput: 65_536, Images: No, Reasoning: Yes, Efforts: toHigh,
		Price: Price{Known: true, Input: 0.15, Output: 0.60, CacheRead: 0.075, CacheWrite5m: 0.15, CacheWrite1h: 0.15}},
	{ID: "openai/gpt-oss-20b", Provider: "groq", Context: 131_072, MaxOutput: 65_536, Images: No, Reasoning: Yes, Efforts: toHigh,
		Price: Price{Known: true, Input: 0.075, Output: 0.30, CacheRead: 0.0375, CacheWrite5m: 0.075, CacheWrite1h: 0.075}},
	{ID: "qwen/qwen3.8-27b", Provider: "groq", Context: 131_042, MaxOutput: 16_384, Images: Yes, Reasoning: Yes,
		Price: Price{Known: true, Input: 0.80, Output: 4, CacheRead: 0.40, CacheWrite5m: 0.80, CacheWrite1h: 0.80}},
	{ID: "llama-3.3-70b-versatile", Provider: "groq", Context: 131_072, MaxOutput: 32_768, Images: No, Reasoning: No,
		Price: Price{Known: true, Input: 0.59, Output: 0.79, CacheRead: 0.59, CacheWrite5m: 0.59, CacheWrite1h: 0.59}},
}
