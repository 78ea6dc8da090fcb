package wires

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"oneloop/looptest/script"
)

const (
	geminiFields = "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent serviceTier store"
	geminiConfig = `maxOutputTokens temperature topP topK stopSequences candidateCount thinkingConfig responseMimeType responseSchema
		responseJsonSchema seed presencePenalty frequencyPenalty responseModalities mediaResolution responseLogprobs logprobs speechConfig
		enableEnhancedCivicAnswers imageConfig`
	partData   = "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse"
	partBeside = "thought thoughtSignature partMetadata videoMetadata mediaResolution"
	// skipped are the signatures that a client may make up for calls that
	// another model made.
	skipped = "skip_thought_signature_validator context_engineering_is_the_way_to_go"
	// schemaFields are the keys of the subset of OpenAPI that parameters take.
	schemaFields = `type format title description nullable enum maxItems minItems properties required minProperties maxProperties
		minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum`
)

func isSkipped(signature string) bool { return slices.Contains(strings.Fields(skipped), signature) }

// check puts a request through the gate.
func (m *gemini) check(r *script.Request) []script.Breach {
	g := &gate{req: r}
	g.only("body", r.Body, geminiFields)
	g.only("generationConfig", r.Fields["generationConfig"], geminiConfig)
	g.only("generationConfig.thinkingConfig", keys(r.Fields["generationConfig"])["thinkingConfig"], "includeThoughts thinkingBudget thinkingLevel")
	seen := map[string]bool{}
	for i, t := range r.Tools {
		where := fmt.Sprintf("tools[0].functionDeclarations[%d]", i)
		g.only(where, t.Raw, "name description parameters parametersJsonSchema behavior response responseJsonSchema")
		g.tool(where, t, seen)
		g.openAPI(where+".parameters", keys(t.Raw)["parameters"])
	}
	contents := list(r.Fields["contents"])
	if len(contents) == 0 {
		g.breach(script.RuleRoles, "contents is not specified")
	}
	all := make([][]geminiPart, len(contents))
	for i, raw := range contents {
		parts, err := geminiParts(raw)
		if err != nil {
			g.breach(script.RuleFields, "%v", err)
			return g.found
		}
		all[i] = parts
		m.content(g, fmt.Sprintf("contents[%d]", i), raw, parts)
	}
	g.turns(contents, all)
	for i, raw := range contents {
		if str(keys(raw)["role"]) == "model" {
			m.returned(g, fmt.Sprintf("contents[%d]", i), all[i])
		}
	}
	if signs(r.Model) {
		g.signed(contents, all)
	}
	return g.found
}

// openAPI finds keys in a schema that the API refuses.
func (g *gate) openAPI(where string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	g.only(where, raw, schemaFields)
	s := keys(raw)
	for name, p := range keys(s["properties"]) {
		g.openAPI(where+".properties."+name, p)
	}
	g.openAPI(where+".items", s["items"])
	for i, p := range list(s["anyOf"]) {
		g.openAPI(fmt.Sprintf("%s.anyOf[%d]", where, i), p)
	}
}

// content finds what is wrong with one content by itself.
func (m *gemini) content(g *gate, where string, raw json.RawMessage, parts []geminiPart) {
	role := str(keys(raw)["role"])
	g.only(where, raw, "role parts")
	if role != "user" && role != "model" {
		g.breach(script.RuleRoles, "Please use a valid role: user, model. (%s.role is %q)", where, role)
	}
	if len(parts) == 0 {
		g.breach(script.RuleContent, "%s.parts must not be empty.", where)
	}
	for i, p := range parts {
		at := fmt.Sprintf("%s.parts[%d]", where, i)
		if m.was(p.raw) {
			continue
		}
		data := 0
		for key := range keys(p.raw) {
			if slices.Contains(strings.Fields(partData), key) {
				data++
			}
		}
		g.only(at, p.raw, partData, partBeside)
		if data != 1 {
			g.breach(script.RuleContent, "%s.data: required oneof field 'data' must have one initialized field, here are %d", at, data)
		}
		g.part(at, role, p)
	}
}

func (g *gate) part(at, role string, p geminiPart) {
	if role == "user" && p.Text != nil && strings.TrimSpace(*p.Text) == "" {
		g.breach(script.RuleBlank, "%s: Unable to submit request because it must have a text parameter with a value.", at)
	}
	switch {
	case p.Call != nil:
		raw := keys(p.raw)["functionCall"]
		g.only(at+".functionCall", raw, "id name args")
		if role != "model" {
			g.breach(script.RuleContent, "%s: function calls are the model's", at)
		}
		if !goodName(p.Call.Name) {
			g.breach(script.RuleCalls, "%s.functionCall.name: Invalid function name %q", at, p.Call.Name)
		}
		if p.Call.Args != nil && kind(p.Call.Args) != "object" {
			g.breach(script.RuleCalls, "%s.functionCall.args: Proto field is not repeating, cannot start list or value: %.60s", at, p.Call.Args)
		}
	case p.Response != nil:
		raw := keys(p.raw)["functionResponse"]
		g.only(at+".functionResponse", raw, "id name response parts willContinue scheduling")
		if role != "user" {
			g.breach(script.RuleContent, "%s: function responses are the user's", at)
		}
		if kind(p.Response.Response) != "object" {
			g.breach(script.RuleResults, "%s.functionResponse.response: must be an object", at)
		}
	case p.Inline != nil:
		if p.Inline.MIME == "" || p.Inline.Data == "" {
			g.breach(script.RuleContent, "%s.inlineData: type and data are required", at)
		}
	}
}

// turns checks who speaks when, and that every call has its response, in
// order.
func (g *gate) turns(contents []json.RawMessage, all [][]geminiPart) {
	before := ""
	var open []geminiPart // calls of the content before
	for i, raw := range contents {
		role := str(keys(raw)["role"])
		if role == before {
			g.breach(script.RuleRoles, "Please ensure that multiturn requests alternate between user and model. (contents[%d])", i)
		}
		if i == 0 && role != "user" {
			g.breach(script.RuleRoles, "Please ensure that multiturn requests start with a user turn.")
		}
		before = role
		if role == "model" {
			open = slices.DeleteFunc(slices.Clone(all[i]), func(p geminiPart) bool { return p.Call == nil })
			continue
		}
		g.responses(i, all[i], open)
		open = nil
	}
	if before == "model" {
		g.breach(script.RuleTail, "Please ensure that single turn requests end with a user role.")
	}
}

func (g *gate) responses(i int, parts, open []geminiPart) {
	var answers []geminiPart
	for j, p := range parts {
		if p.Response == nil {
			continue
		}
		if j != len(answers) {
			g.breach(script.RuleResults, "contents[%d].parts[%d]: function responses come before all else", i, j)
		}
		answers = append(answers, p)
	}
	if len(answers) != len(open) {
		g.breach(script.RuleResults, "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn. (contents[%d]: %d for %d)", i, len(answers), len(open))
		return
	}
	for j, p := range answers {
		call, answer := open[j].Call, p.Response
		if answer.Name != call.Name || answer.ID != call.ID {
			g.breach(script.RuleResults, "contents[%d].parts[%d]: the response is to %s %q, the call at its place is %s %q", i, j, answer.Name, answer.ID, call.Name, call.ID)
		}
	}
}

// signed finds calls of the turn that goes on without the signature of the
// step they were made in.
func (g *gate) signed(contents []json.RawMessage, all [][]geminiPart) {
	for i := len(contents) - 1; i >= 0; i-- {
		if str(keys(contents[i])["role"]) == "user" {
			if len(all[i]) > 0 && all[i][0].Response == nil {
				return // here the turn began
			}
			continue
		}
		first := slices.IndexFunc(all[i], func(p geminiPart) bool { return p.Call != nil })
		if first >= 0 && all[i][first].Signature == "" {
			g.breach(script.RuleThinking, "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Function call `default_api:%s`, position %d.", all[i][first].Call.Name, i+1)
		}
	}
}

// returned finds what was changed in a content that was sent: calls, and
// signatures that are not the model's, or not on the part they came on.
func (m *gemini) returned(g *gate, where string, parts []geminiPart) {
	back := settled(parts)
	for _, sent := range m.sent {
		if slices.EqualFunc(sent.parts, back, equal) {
			return
		}
	}
	for i, p := range parts {
		own := p.Signature != "" && !isSkipped(p.Signature)
		switch {
		case own && !m.any(func(raw json.RawMessage, _ string) bool { return str(keys(raw)["thoughtSignature"]) == p.Signature }):
			g.breach(script.RuleThinking, "%s.parts[%d]: Corrupted thought signature.", where, i)
		case own && !m.any(func(raw json.RawMessage, _ string) bool { return sentPart(raw, p) }),
			p.Call != nil && p.Call.ID != "" && m.changed(p, g.req.Model):
			g.breach(script.RuleThinking, "%s.parts[%d]: the part is not what it was, or its signature is not on it: %s", where, i, p.raw)
		}
	}
}

// changed reports whether p is a call that was made with the same id, and none
// of those is what p is.
func (m *gemini) changed(p geminiPart, model string) bool {
	made, whole := false, false
	for _, sent := range m.sent {
		for _, raw := range sent.parts {
			var was geminiPart
			if json.Unmarshal(raw, &was) != nil || was.Call == nil || was.Call.ID != p.Call.ID {
				continue
			}
			made = true
			if sent.model != model {
				was.Signature = p.Signature // another model's is left out
			}
			whole = whole || samePart(was, p)
		}
	}
	return made && !whole
}

// settled is what stays of parts when neighbouring plain text is one, and
// reasoning, which may be left out, is.
func settled(parts []geminiPart) []json.RawMessage {
	var out []json.RawMessage
	plain := false // the last of out is plain text
	for _, p := range parts {
		isPlain := p.Text != nil && p.Signature == ""
		switch {
		case p.Thought:
			continue
		case isPlain && *p.Text == "":
			continue
		case isPlain && plain:
			out[len(out)-1] = script.Object("text", str(keys(out[len(out)-1])["text"])+*p.Text)
			continue
		}
		plain = isPlain
		out = append(out, p.raw)
	}
	return out
}

// any reports whether yes is true of a part that was sent.
func (m *gemini) any(yes func(raw json.RawMessage, model string) bool) bool {
	return slices.ContainsFunc(m.sent, func(sent geminiSent) bool {
		return slices.ContainsFunc(sent.parts, func(raw json.RawMessage) bool { return yes(raw, sent.model) })
	})
}

func (m *gemini) was(part json.RawMessage) bool {
	return m.any(func(raw json.RawMessage, _ string) bool { return equal(raw, part) })
}

// sentPart reports whether p is the part raw.
func sentPart(raw json.RawMessage, p geminiPart) bool {
	var was geminiPart
	return equal(raw, p.raw) || json.Unmarshal(raw, &was) == nil && was.Call != nil && p.Call != nil && samePart(was, p)
}

// samePart reports whether a call is what it was, but for what is repaired when
// it arrives: an id that is taken, a name or arguments that are none.
func samePart(was, p geminiPart) bool {
	broken := !goodName(was.Call.Name) || kind(was.Call.Args) != "object"
	return was.Signature == p.Signature && (broken || was.Call.Name == p.Call.Name && same(was.Call.Args, p.Call.Args))
}

// remember keeps what a reply holds.
func (m *gemini) remember(r script.Reply, req *script.Request) {
	if r.Body != nil || r.SSE != nil || r.Status >= http.StatusBadRequest || r.Error != nil {
		return
	}
	r = r.Filled(req)
	for i, b := range r.Blocks {
		if p := b.Parts(); p.Type == "tool_use" && req.Called(p.ID) {
			r.Blocks = slices.Clone(r.Blocks)
			r.Blocks[i] = script.ToolPieces("", p.Name, p.Pieces...) // it comes back with another id
		}
	}
	parts, err := geminiParts(script.Object("parts", join(turn(geminiPieces(r), r.Interleave))))
	if err == nil && len(parts) > 0 {
		m.sent = append(m.sent, geminiSent{settled(parts), req.Model})
	}
}
