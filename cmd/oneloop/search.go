package main

import (
	"encoding/json"
	"slices"

	"oneloop"
)

// webSearch is the API's own tool, in the version that every model with such
// a tool knows. Its results come back in the same reply.
const webSearch = `{"type":"web_search_20250305","name":"web_search","max_uses":8}`

// searching adds the API's own search to the tools when the user wants it. It
// comes first: the last tool of a request is where its cache ends.
func (p *program) searching(defs []oneloop.ToolDef) []oneloop.ToolDef {
	if !p.settings.WebSearch {
		return defs
	}
	return slices.Insert(slices.Clone(defs), 0, oneloop.ToolDef{Name: "web_search", Raw: json.RawMessage(webSearch)})
}
