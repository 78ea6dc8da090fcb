package catalog

// Sources, read on Date: the model ids and the 2026-10-21 request forms of
// the public Go SDK v2.15.0 and its OpenAPI document; windows, prices and
// abilities of the public model and pricing pages. The price of
// claude-3-haiku-20240307 and the minimum lengths of a cached prefix are
// second-hand. What no source states is left at its zero value, and the
// gated claude-mythos models have the limits of the safe default.

var (
	// efforts by the level that was added last.
	toMax   = []string{"low", "medium", "high", "max"}
	toXHigh = []string{"low", "medium", "high", "xhigh", "max"}
)

var claudes = [...]Model{
	{ID: "claude-fable-5-2", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000, Price: Price{Known: true, Input: 8, Output: 40, CacheRead: 0.8, CacheWrite5m: 10, CacheWrite1h: 16, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "high", CacheMin: 512},
	{ID: "claude-fable-5-1", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000, Price: Price{Known: true, Input: 10, Output: 50, CacheRead: 1, CacheWrite5m: 12.5, CacheWrite1h: 20, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "high", CacheMin: 512},
	{ID: "claude-fable-5", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000, Price: Price{Known: true, Input: 10, Output: 50, CacheRead: 1, CacheWrite5m: 12.5, CacheWrite1h: 20, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 512},

	{ID: "claude-mythos-5-2", Provider: "anthropic", Images: Yes, Context: 200_000, MaxOutput: 8192,
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Preserved: true, CacheMin: 512},
	{ID: "claude-mythos-5-1", Provider: "anthropic", Images: Yes, Context: 200_000, MaxOutput: 8192,
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Preserved: true, CacheMin: 512},
	{ID: "claude-mythos-5", Provider: "anthropic", Images: Yes, Context: 200_000, MaxOutput: 8192, CacheMin: 512},

	{ID: "claude-opus-5-5", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000,
		Price:    Price{Known: true, Input: 4, Output: 20, CacheRead: 0.20, CacheWrite5m: 5, CacheWrite1h: 8, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "medium"},
	{ID: "claude-opus-5", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000, Price: Price{Known: true, Input: 5, Output: 25, CacheRead: 0.5, CacheWrite5m: 6.25, CacheWrite1h: 10, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 512},
	{ID: "claude-sonnet-5-5", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000,
		Price:    Price{Known: true, Input: 2, Output: 10, CacheRead: 0.10, CacheWrite5m: 2.5, CacheWrite1h: 4, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "high"},
	{ID: "claude-sonnet-5", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000, Price: Price{Known: true, Input: 2, Output: 10, CacheRead: 0.2, CacheWrite5m: 2.5, CacheWrite1h: 4, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 1024},
	{ID: "claude-haiku-5-5", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000,
		Price: Price{Known: true, Input: 0.10, Output: 0.50, CacheRead: 0.01, CacheWrite5m: 0.125, CacheWrite1h: 0.20, Search: search,
			Above: 100_000, Times: 5},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "medium"},

	{ID: "claude-opus-4-8", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000, Price: Price{Known: true, Input: 5, Output: 25, CacheRead: 0.5, CacheWrite5m: 6.25, CacheWrite1h: 10, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 1024},
	{ID: "claude-opus-4-7", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000, Price: Price{Known: true, Input: 5, Output: 25, CacheRead: 0.5, CacheWrite5m: 6.25, CacheWrite1h: 10, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 2048},
	{ID: "claude-opus-4-6", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000, Price: Price{Known: true, Input: 5, Output: 25, CacheRead: 0.5, CacheWrite5m: 6.25, CacheWrite1h: 10, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Efforts: toMax, Effort: "high", CacheMin: 4096},
	{ID: "claude-sonnet-4-6", Provider: "anthropic", Images: Yes, Context: 1_000_000, MaxOutput: 128_000, Price: Price{Known: true, Input: 3, Output: 15, CacheRead: 0.3, CacheWrite5m: 3.75, CacheWrite1h: 6, Search: search},
		Thinking: Adaptive, Reasoning: Yes, Efforts: toMax, Effort: "high", CacheMin: 1024},

	{ID: "claude-opus-4-5", Provider: "anthropic", Images: Yes, Context: 200_000, MaxOutput: 64_000, Price: Price{Known: true, Input: 5, Output: 25, CacheRead: 0.5, CacheWrite5m: 6.25, CacheWrite1h: 10, Search: search},
		Thinking: Budget, Reasoning: Yes, CacheMin: 4096, Prefill: true, Retired: "2027-01-22"},
	{ID: "claude-sonnet-4-5", Provider: "anthropic", Images: Yes, Context: 200_000, MaxOutput: 64_000, Price: Price{Known: true, Input: 3, Output: 15, CacheRead: 0.3, CacheWrite5m: 3.75, CacheWrite1h: 6, Search: search},
		Thinking: Budget, Reasoning: Yes, CacheMin: 1024, Prefill: true, Retired: "2026-11-30"},
	{ID: "claude-haiku-4-5", Provider: "anthropic", Images: Yes, Context: 200_000, MaxOutput: 64_000, Price: Price{Known: true, Input: 1, Output: 5, CacheRead: 0.1, CacheWrite5m: 1.25, CacheWrite1h: 2, Search: search},
		Thinking: Budget, Reasoning: Yes, CacheMin: 4096, Prefill: true},
	{ID: "claude-haiku-4-5-20251001", Provider: "anthropic", Images: Yes, Context: 200_000, MaxOutput: 64_000, Price: Price{Known: true, Input: 1, Output: 5, CacheRead: 0.1, CacheWrite5m: 1.25, CacheWrite1h: 2, Search: search},
		Thinking: Budget, Reasoning: Yes, CacheMin: 4096, Prefill: true},

	// Gone from the first-party API, still served by other platforms.
	{ID: "claude-3-haiku-20240307", Provider: "anthropic", Images: Yes, Context: 200_000, MaxOutput: 4096, Price: Price{Known: true, Input: 0.25, Output: 1.25, CacheRead: 0.025, CacheWrite5m: 0.3125, CacheWrite1h: 0.5, Search: search},
		Reasoning: No, CacheMin: 2048, Prefill: true, Retired: "2026-04-19"},
}

// search is what a search of the web costs, whichever model asks for it.
const search = 0.01
