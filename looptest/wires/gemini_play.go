package wires

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"oneloop/looptest/script"
)

// geminiPieces are the parts of a reply, block by block. The signature of
// reasoning stands on the first part after it that is none: where none comes,
// on an empty text. Newer models sign the first call of a reply in any case.
func geminiPieces(r script.Reply) [][]json.RawMessage {
	var out [][]json.RawMessage
	seal := ""
	unsigned := signs(r.Model)
	for _, b := range r.Blocks {
		p := b.Parts()
		var parts []json.RawMessage
		add := func(pairs ...any) {
			if seal != "" {
				pairs = append(pairs, "thoughtSignature", seal)
				seal = ""
			}
			parts = append(parts, script.Object(pairs...))
		}
		switch p.Type {
		case "thinking":
			for _, piece := range p.Pieces {
				if piece != "" {
					parts = append(parts, script.Object("text", piece, "thought", true))
				}
			}
			seal = p.Signature
		case "text":
			for _, piece := range p.Pieces {
				add("text", piece)
			}
		case "tool_use":
			if unsigned && seal == "" {
				seal = base64.StdEncoding.EncodeToString([]byte("signed " + r.ID))
			}
			unsigned = false
			add("functionCall", geminiCall(p))
		default:
			parts = append(parts, p.Whole)
		}
		out = append(out, parts)
	}
	if seal != "" {
		out = append(out, []json.RawMessage{script.Object("text", "", "thoughtSignature", seal)})
	}
	return out
}

// signs reports whether a model signs its calls and refuses those that come
// back without.
func signs(model string) bool { return strings.Contains(model, "gemini-3") }

func geminiCall(p script.Parts) json.RawMessage {
	pairs := []any{"name", p.Name}
	switch input := p.Text(); {
	case input == "":
		pairs = append(pairs, "args", script.Object())
	case json.Valid([]byte(input)):
		pairs = append(pairs, "args", json.RawMessage(input))
	default:
		pairs = append(pairs, "args", input) // a text where an object is due
	}
	if p.ID != "" {
		pairs = append(pairs, "id", p.ID)
	}
	return script.Object(pairs...)
}

// geminiStream is a reply as partial replies; the last one says why it ended.
func geminiStream(r script.Reply) [][]byte {
	f := script.Frames{Reply: r}
	for _, part := range turn(geminiPieces(r), r.Interleave) {
		f.Event("", geminiChunk(r, []json.RawMessage{part}, false))
	}
	if r.Error != nil {
		f.Event("", geminiError(*r.Error))
	} else {
		f.Event("", geminiChunk(r, []json.RawMessage{script.Object("text", "")}, true))
	}
	return f.All()
}

func geminiChunk(r script.Reply, parts []json.RawMessage, last bool) []byte {
	candidate := []any{"content", script.Object("parts", join(parts), "role", "model")}
	if last {
		candidate = append(candidate, "finishReason", geminiFinish(r.Stop))
	}
	pairs := []any{"candidates", join([]json.RawMessage{script.Object(append(candidate, "index", 0)...)})}
	switch u := r.Usage; {
	case r.RawUsage == nil:
		usage := []any{"promptTokenCount", prompt(u), "totalTokenCount", prompt(u) + u.Output}
		if last {
			usage = append(usage, "candidatesTokenCount", u.Output-u.Thinking)
		}
		if u.CacheRead > 0 {
			usage = append(usage, "cachedContentTokenCount", u.CacheRead)
		}
		if u.Thinking > 0 {
			usage = append(usage, "thoughtsTokenCount", u.Thinking)
		}
		pairs = append(pairs, "usageMetadata", script.Object(usage...))
	case len(r.RawUsage) > 0:
		pairs = append(pairs, "usageMetadata", r.RawUsage)
	}
	return script.Object(append(pairs, "modelVersion", r.Model, "responseId", r.ID)...)
}

func geminiFinish(stop string) string {
	switch stop {
	case "end_turn", "tool_use", "stop_sequence":
		return "STOP"
	case "max_tokens", "model_context_window_exceeded":
		return "MAX_TOKENS"
	case "refusal":
		return "SAFETY"
	}
	return stop
}

// geminiWhole is a reply in one piece: a list where a stream was asked for
// that is not one of events.
func geminiWhole(r script.Reply, req *script.Request) []byte {
	r = r.Filled(req)
	var parts []json.RawMessage
	for _, block := range geminiPieces(r) {
		parts = append(parts, block...)
	}
	chunk := geminiChunk(r, parts, true)
	if req.Stream {
		return join([]json.RawMessage{chunk})
	}
	return chunk
}

// geminiError is an error in the API's words; when to come back stands among
// the details.
func geminiError(e script.Error) []byte {
	code, status, message := 400, "INVALID_ARGUMENT", e.Message
	switch e.Type {
	case "authentication_error":
		code, status = 401, "UNAUTHENTICATED"
	case "permission_error":
		code, status = 403, "PERMISSION_DENIED"
	case "not_found_error":
		code, status = 404, "NOT_FOUND"
	case "rate_limit_error":
		code, status = 429, "RESOURCE_EXHAUSTED"
	case "api_error":
		code, status = 500, "INTERNAL"
	case "overloaded_error":
		code, status = 503, "UNAVAILABLE"
	case script.Overflow:
		message = fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", 1300000, 1048576)
	}
	pairs := []any{"code", code, "message", message, "status", status}
	if e.Retry > 0 {
		retry := script.Object("@type", "type.googleapis.com/google.rpc.RetryInfo", "retryDelay", strings.TrimSuffix(fmt.Sprintf("%g", e.Retry.Seconds()), ".0")+"s")
		pairs = append(pairs, "details", join([]json.RawMessage{retry}))
	}
	return script.Object("error", script.Object(pairs...))
}
