package tui

import (
	"encoding/json"
	"fmt"
	"strings"

	"oneloop"
)

// hitsShown is how many results of a search are named.
const hitsShown = 5

// searches names what the API looked for on the web by itself, and what it
// found. Both are other people's words: what would steer the terminal is
// shown.
func (r *renderer) searches(prefix string, m *oneloop.Message) {
	for _, b := range m.Blocks {
		o, ok := b.(*oneloop.Opaque)
		if !ok {
			continue
		}
		switch o.Type {
		case "server_tool_use":
			var call struct {
				Name  string
				Input struct{ Query string }
			}
			if json.Unmarshal(o.Raw, &call) == nil && call.Name == "web_search" {
				r.searchLine(bold, prefix+fmt.Sprintf(r.words.WebSearch, head(call.Input.Query, headCells)))
			}
		case "web_search_tool_result":
			r.found(prefix+"  ", o.Raw)
		}
	}
}

// found names the results in a block, or says why there are none.
func (r *renderer) found(prefix string, raw json.RawMessage) {
	var block struct{ Content json.RawMessage }
	if json.Unmarshal(raw, &block) != nil {
		return
	}
	var failed struct {
		Code string `json:"error_code"`
	}
	if json.Unmarshal(block.Content, &failed) == nil && failed.Code != "" {
		r.searchLine(red, prefix+fmt.Sprintf(r.words.SearchFailed, head(failed.Code, headCells)))
		return
	}
	var hits []struct{ Title, URL string }
	if json.Unmarshal(block.Content, &hits) != nil {
		return
	}
	for i, h := range hits {
		if i == hitsShown {
			r.searchLine(dim, prefix+r.words.MoreHits.of(len(hits)-i))
			break
		}
		r.searchLine(dim, prefix+strings.TrimSpace(head(h.Title, headCells)+"  "+head(h.URL, headCells)))
	}
}

func (r *renderer) searchLine(st style, text string) {
	r.on.fresh()
	r.on.put(st, exactSight, text)
	r.on.fresh()
	r.section = sectionTool
}
