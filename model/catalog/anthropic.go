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

var models = []Model{
	{ID: "claude-fable-5-2", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000, Price: price(8, 40),
		Thinking: Adaptive, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "high", CacheMin: 512},
	{ID: "claude-fable-5-1", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000, Price: price(10, 50),
		Thinking: Adaptive, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "high", CacheMin: 512},
	{ID: "claude-fable-5", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000, Price: price(10, 50),
		Thinking: Adaptive, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 512},

	{ID: "claude-mythos-5-2", Provider: "anthropic", Context: 200_000, MaxOutput: 8192,
		Thinking: Adaptive, Hidden: true, Preserved: true, CacheMin: 512},
	{ID: "claude-mythos-5-1", Provider: "anthropic", Context: 200_000, MaxOutput: 8192,
		Thinking: Adaptive, Hidden: true, Preserved: true, CacheMin: 512},
	{ID: "claude-mythos-5", Provider: "anthropic", Context: 200_000, MaxOutput: 8192, CacheMin: 512},

	{ID: "claude-opus-5-5", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000,
		Price:    Price{Known: true, Input: 4, Output: 20, CacheRead: 0.20, CacheWrite5m: 5, CacheWrite1h: 8, Search: search},
		Thinking: Adaptive, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "medium"},
	{ID: "claude-opus-5", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000, Price: price(5, 25),
		Thinking: Adaptive, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 512},
	{ID: "claude-sonnet-5-5", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000,
		Price:    Price{Known: true, Input: 2, Output: 10, CacheRead: 0.10, CacheWrite5m: 2.5, CacheWrite1h: 4, Search: search},
		Thinking: Adaptive, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "high"},
	{ID: "claude-sonnet-5", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000, Price: price(2, 10),
		Thinking: Adaptive, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 1024},
	{ID: "claude-haiku-5-5", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000,
		Price: Price{Known: true, Input: 0.10, Output: 0.50, CacheRead: 0.01, CacheWrite5m: 0.125, CacheWrite1h: 0.20, Search: search,
			Above: 100_000, Times: 5},
		Thinking: Adaptive, Hidden: true, Preserved: true, Efforts: toXHigh, Effort: "medium"},

	{ID: "claude-opus-4-8", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000, Price: price(5, 25),
		Thinking: Adaptive, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 1024},
	{ID: "claude-opus-4-7", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000, Price: price(5, 25),
		Thinking: Adaptive, Hidden: true, Efforts: toXHigh, Effort: "high", CacheMin: 2048},
	{ID: "claude-opus-4-6", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000, Price: price(5, 25),
		Thinking: Adaptive, Efforts: toMax, Effort: "high", CacheMin: 4096},
	{ID: "claude-sonnet-4-6", Provider: "anthropic", Context: 1_000_000, MaxOutput: 128_000, Price: price(3, 15),
		Thinking: Adaptive, Efforts: toMax, Effort: "high", CacheMin: 1024},

	{ID: "claude-opus-4-5", Provider: "anthropic", Context: 200_000, MaxOutput: 64_000, Price: price(5, 25),
		Thinking: Budget, CacheMin: 4096, Prefill: true, Retired: "2027-01-22"},
	{ID: "claude-sonnet-4-5", Provider: "anthropic", Context: 200_000, MaxOutput: 64_000, Price: price(3, 15),
		Thinking: Budget, CacheMin: 1024, Prefill: true, Retired: "2026-11-30"},
	{ID: "claude-haiku-4-5", Provider: "anthropic", Context: 200_000, MaxOutput: 64_000, Price: price(1, 5),
		Thinking: Budget, CacheMin: 4096, Prefill: true},
	{ID: "claude-haiku-4-5-20251001", Provider: "anthropic", Context: 200_000, MaxOutput: 64_000, Price: price(1, 5),
		Thinking: Budget, CacheMin: 4096, Prefill: true},

	// Gone from the first-party API, still served by other platforms.
	{ID: "claude-3-haiku-20240307", Provider: "anthropic", Context: 200_000, MaxOutput: 4096, Price: price(0.25, 1.25),
		CacheMin: 2048, Prefill: true, Retired: "2026-04-19"},
}

// search is what a search of the web costs, whichever model asks for it.
const search = 0.01

// price is a price with the usual cache prices: writing costs 1.25 times the
// input (twice for one hour), reading a tenth.
func price(input, output float64) Price {
	return Price{Known: true, Input: input, Output: output,
		CacheRead: 0.1 * input, CacheWrite5m: 1.25 * input, CacheWrite1h: 2 * input, Search: search}
}
