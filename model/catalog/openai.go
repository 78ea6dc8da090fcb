package catalog

// Sources, as of Date: OpenAI's and Google's model and pricing pages at second
// hand, as public tables and release notes of September to November 2026 quote
// them; the pages themselves were not read. Some lines stand in one such source
// only, and some of those of older models are what was known of them before and
// were not looked up again. Where sources differ on a price (gpt-5.6-sol) there
// is none here. What is written to a cache without a price of its own costs
// what input costs.

var (
	toHigh  = []string{"low", "medium", "high"}
	toX     = []string{"low", "medium", "high", "xhigh"}
	ofKimi  = []string{"low", "high", "max"}
	highMax = []string{"high", "max"}
)

var gpts = [...]Model{
	{ID: "gpt-6.1-sol", Provider: "openai", Context: 1_050_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toXHigh,
		Price: Price{Known: true, Input: 2, Output: 10, CacheRead: 0.10, CacheWrite5m: 2.5, CacheWrite1h: 2.5, Above: 272_000, Times: 2, TimesOutput: 1.5}},
	// Its window is not told; the safe default keeps it below the long prompts that cost more.
	{ID: "gpt-6.1-terra", Provider: "openai", Context: 200_000, MaxOutput: 32_000, Images: Yes, Reasoning: Yes, Efforts: toXHigh,
		Price: Price{Known: true, Input: 1, Output: 5, CacheRead: 0.05, CacheWrite5m: 1.25, CacheWrite1h: 1.25}},
	{ID: "gpt-6-astra", Provider: "openai", Context: 1_050_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toXHigh,
		Price: Price{Known: true, Input: 10, Output: 50, CacheRead: 1, CacheWrite5m: 12.5, CacheWrite1h: 12.5, Above: 272_000, Times: 2, TimesOutput: 1.5}},
	{ID: "gpt-6-sol", Provider: "openai", Context: 1_050_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toXHigh, Effort: "medium",
		Price: Price{Known: true, Input: 2, Output: 10, CacheRead: 0.20, CacheWrite5m: 2.5, CacheWrite1h: 2.5, Above: 272_000, Times: 2, TimesOutput: 1.5}},
	{ID: "gpt-6-luna", Provider: "openai", Context: 1_050_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toXHigh, Effort: "medium",
		Price: Price{Known: true, Input: 0.10, Output: 0.50, CacheRead: 0.01, CacheWrite5m: 0.125, CacheWrite1h: 0.125, Above: 272_000, Times: 2, TimesOutput: 1.5}},
	{ID: "gpt-5.6-sol", Provider: "openai", Context: 1_050_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toXHigh},
	{ID: "gpt-5.6-terra", Provider: "openai", Context: 1_050_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toXHigh,
		Price: Price{Known: true, Input: 2, Output: 12, CacheRead: 0.20, CacheWrite5m: 2.5, CacheWrite1h: 2.5, Above: 272_000, Times: 2, TimesOutput: 1.5}},
	{ID: "gpt-5.6-luna", Provider: "openai", Context: 1_050_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toXHigh,
		Price: Price{Known: true, Input: 0.20, Output: 1.20, CacheRead: 0.02, CacheWrite5m: 0.25, CacheWrite1h: 0.25, Above: 272_000, Times: 2, TimesOutput: 1.5}},
	{ID: "gpt-5.5", Provider: "openai", Context: 1_050_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toX,
		Price: Price{Known: true, Input: 5, Output: 30, CacheRead: 0.50, CacheWrite5m: 5, CacheWrite1h: 5, Above: 272_000, Times: 2, TimesOutput: 1.5}},
	{ID: "gpt-5.4", Provider: "openai", Context: 400_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toX,
		Price: Price{Known: true, Input: 2.5, Output: 15, CacheRead: 0.25, CacheWrite5m: 2.5, CacheWrite1h: 2.5}},
	{ID: "gpt-5.4-mini", Provider: "openai", Context: 400_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toX,
		Price: Price{Known: true, Input: 0.75, Output: 4.5, CacheRead: 0.075, CacheWrite5m: 0.75, CacheWrite1h: 0.75}},
	{ID: "gpt-5.3-codex", Provider: "openai", Context: 400_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toX},
	{ID: "gpt-5.2", Provider: "openai", Context: 400_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toX,
		Price: Price{Known: true, Input: 1.75, Output: 14, CacheRead: 0.175, CacheWrite5m: 1.75, CacheWrite1h: 1.75}},
	{ID: "gpt-5.1", Provider: "openai", Context: 400_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toHigh,
		Price: Price{Known: true, Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite5m: 1.25, CacheWrite1h: 1.25}},
	{ID: "gpt-5", Provider: "openai", Context: 400_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toHigh, Effort: "medium",
		Price: Price{Known: true, Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite5m: 1.25, CacheWrite1h: 1.25}},
	{ID: "gpt-5-mini", Provider: "openai", Context: 400_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toHigh, Effort: "medium",
		Price: Price{Known: true, Input: 0.25, Output: 2, CacheRead: 0.025, CacheWrite5m: 0.25, CacheWrite1h: 0.25}},
	{ID: "gpt-5-nano", Provider: "openai", Context: 400_000, MaxOutput: 128_000, Images: Yes, Reasoning: Yes, Efforts: toHigh, Effort: "medium",
		Price: Price{Known: true, Input: 0.05, Output: 0.40, CacheRead: 0.005, CacheWrite5m: 0.05, CacheWrite1h: 0.05}},
	{ID: "gpt-4.1", Provider: "openai", Context: 1_047_576, MaxOutput: 32_768, Images: Yes, Reasoning: No,
		Price: Price{Known: true, Input: 2, Output: 8, CacheRead: 0.50, CacheWrite5m: 2, CacheWrite1h: 2}},
	{ID: "gpt-4.1-mini", Provider: "openai", Context: 1_047_576, MaxOutput: 32_768, Images: Yes, Reasoning: No,
		Price: Price{Known: true, Input: 0.40, Output: 1.60, CacheRead: 0.10, CacheWrite5m: 0.40, CacheWrite1h: 0.40}},
	{ID: "gpt-4o", Provider: "openai", Context: 128_000, MaxOutput: 16_384, Images: Yes, Reasoning: No,
		Price: Price{Known: true, Input: 2.5, Output: 10, CacheRead: 1.25, CacheWrite5m: 2.5, CacheWrite1h: 2.5}},
	{ID: "gpt-4o-mini", Provider: "openai", Context: 128_000, MaxOutput: 16_384, Images: Yes, Reasoning: No,
		Price: Price{Known: true, Input: 0.15, Output: 0.60, CacheRead: 0.075, CacheWrite5m: 0.15, CacheWrite1h: 0.15}},
	{ID: "o3", Provider: "openai", Context: 200_000, MaxOutput: 100_000, Images: Yes, Reasoning: Yes, Efforts: toHigh, Effort: "medium",
		Price: Price{Known: true, Input: 2, Output: 8, CacheRead: 0.50, CacheWrite5m: 2, CacheWrite1h: 2}},
	{ID: "o4-mini", Provider: "openai", Context: 200_000, MaxOutput: 100_000, Images: Yes, Reasoning: Yes, Efforts: toHigh, Effort: "medium",
		Price: Price{Known: true, Input: 1.10, Output: 4.40, CacheRead: 0.275, CacheWrite5m: 1.10, CacheWrite1h: 1.10}},
}

// Google's prices of the newest Flash models are introductory and end with the
// year; the next ones are published and higher.
var geminis = [...]Model{
	{ID: "gemini-3.8-flash", Provider: "gemini", Context: 1_000_000, MaxOutput: 65_536, Images: Yes, Reasoning: Yes, Thinking: Adaptive, Efforts: toHigh,
		Price: Price{Known: true, Input: 0.75, Output: 3.75, CacheRead: 0.075, CacheWrite5m: 0.75, CacheWrite1h: 0.75, Until: "2026-12-31"}},
	{ID: "gemini-3.7-flash", Provider: "gemini", Context: 1_000_000, MaxOutput: 65_536, Images: Yes, Reasoning: Yes, Thinking: Adaptive, Efforts: toHigh},
	{ID: "gemini-3.6-flash", Provider: "gemini", Context: 1_000_000, MaxOutput: 65_536, Images: Yes, Reasoning: Yes, Thinking: Adaptive, Efforts: toHigh,
		Price: Price{Known: true, Input: 0.75, Output: 3.75, CacheRead: 0.075, CacheWrite5m: 0.75, CacheWrite1h: 0.75, Until: "2026-12-31"}},
	{ID: "gemini-3.5-flash", Provider: "gemini", Context: 1_048_576, MaxOutput: 65_536, Images: Yes, Reasoning: Yes, Thinking: Adaptive, Efforts: toHigh,
		Price: Price{Known: true, Input: 1.50, Output: 9, CacheRead: 0.15, CacheWrite5m: 1.50, CacheWrite1h: 1.50}},
	{ID: "gemini-3.1-pro-preview", Provider: "gemini", Context: 1_048_576, MaxOutput: 65_536, Images: Yes, Reasoning: Yes, Thinking: Adaptive, Efforts: toHigh,
		Price: Price{Known: true, Input: 2, Output: 12, CacheRead: 0.20, CacheWrite5m: 2, CacheWrite1h: 2, Above: 200_000, Times: 2, TimesOutput: 1.5}},
	{ID: "gemini-3-flash-preview", Provider: "gemini", Context: 1_048_576, MaxOutput: 65_536, Images: Yes, Reasoning: Yes, Thinking: Adaptive, Efforts: toHigh,
		Price: Price{Known: true, Input: 0.50, Output: 3, CacheRead: 0.05, CacheWrite5m: 0.50, CacheWrite1h: 0.50}},
	{ID: "gemini-2.5-pro", Provider: "gemini", Context: 1_048_576, MaxOutput: 65_536, Images: Yes, Reasoning: Yes, Thinking: Budget, Efforts: toHigh,
		Price: Price{Known: true, Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite5m: 1.25, CacheWrite1h: 1.25, Above: 200_000, Times: 2, TimesOutput: 1.5}},
	{ID: "gemini-2.5-flash", Provider: "gemini", Context: 1_048_576, MaxOutput: 65_536, Images: Yes, Reasoning: Yes, Thinking: Budget, Efforts: toHigh,
		Price: Price{Known: true, Input: 0.30, Output: 2.50, CacheRead: 0.03, CacheWrite5m: 0.30, CacheWrite1h: 0.30}},
	{ID: "gemini-2.5-flash-lite", Provider: "gemini", Context: 1_048_576, MaxOutput: 65_536, Images: Yes, Reasoning: Yes, Thinking: Budget, Efforts: toHigh,
		Price: Price{Known: true, Input: 0.10, Output: 0.40, CacheRead: 0.01, CacheWrite5m: 0.10, CacheWrite1h: 0.10}},
}
