package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"oneloop"
	"oneloop/session"
)

// Bounds of the skills that stand in a conversation that is made shorter, in
// bytes.
const (
	keptSkill = 20_000 // of one
	keptAll   = 60_000
)

// keeping has the skills that were loaded stay when the conversation is made
// shorter: what they say holds until the end of the work.
func (a *agent) keeping(s *session.Session) {
	s.Keep("skills", func() string {
		req, err := a.log.Load().Request(context.Background())
		if err != nil {
			return "" // whoever makes it shorter meets that error too
		}
		return keptSkills(req.Messages, min(keptAll, a.model.Context/2))
	})
}

// text of a skill that stands in a conversation.
type loadedSkill struct{ name, text string }

// keptSkills are the skills in a conversation, as text, without those of the
// last prompt, which stays. Those loaded last are kept first.
func keptSkills(msgs []*oneloop.Message, most int) string {
	var found []loadedSkill
	last := -1
	for i, m := range msgs {
		if m.Role == oneloop.User && m.Meta.Source == "" && !slices.ContainsFunc(m.Blocks, isResult) {
			last = i
		}
	}
	for i, m := range msgs {
		if m.Role != oneloop.User {
			continue
		}
		for _, b := range m.Blocks {
			for _, s := range skillsIn(b, m.Meta.Source == "summary") {
				found = slices.DeleteFunc(found, func(o loadedSkill) bool { return o.name == s.name })
				if i != last {
					found = append(found, s)
				}
			}
		}
	}
	var kept, gone []string
	for _, s := range slices.Backward(found) {
		text := s.text
		if len(text) > keptSkill {
			text = strings.ToValidUTF8(text[:keptSkill], "") + "\n[cut; load it again for the rest]\n" + skillEnd
		}
		if most -= len(text); most < 0 {
			gone = append(gone, s.name)
			continue
		}
		kept = append(kept, text)
	}
	slices.Reverse(kept)
	if len(gone) > 0 {
		slices.Reverse(gone)
		kept = append(kept, fmt.Sprintf("Loaded before, and to be loaded again if they are needed: %s", strings.Join(gone, ", ")))
	}
	return strings.Join(kept, "\n")
}

func isResult(b oneloop.Block) bool {
	_, is := b.(*oneloop.ToolResult)
	return is
}

const (
	skillBegin = "<skill name="
	skillEnd   = "</skill>"
)

// skillsIn are the skills whose text is in a block: all of it, or, in a
// summary, the parts that were kept before.
func skillsIn(b oneloop.Block, summary bool) (found []loadedSkill) {
	var text string
	switch b := b.(type) {
	case *oneloop.Text:
		text = b.Text
	case *oneloop.ToolResult:
		text = b.Text()
	}
	text = strings.TrimSpace(text)
	if !summary {
		if s, ok := asSkill(text); ok && strings.HasSuffix(text, skillEnd) {
			found = append(found, s)
		}
		return found
	}
	_, text, _ = strings.Cut(text, "<kept name=\"skills\">\n")
	text, _, _ = strings.Cut(text, "\n</kept>")
	for {
		at := strings.Index(text, skillBegin)
		if at < 0 {
			return found
		}
		end := strings.Index(text[at:], "\n"+skillEnd)
		if end < 0 {
			return found
		}
		end += at + len("\n"+skillEnd)
		if s, ok := asSkill(text[at:end]); ok {
			found = append(found, s)
		}
		text = text[end:]
	}
}

func asSkill(text string) (loadedSkill, bool) {
	rest, ok := strings.CutPrefix(text, skillBegin+`"`)
	name, _, closed := strings.Cut(rest, `"`)
	return loadedSkill{name, text}, ok && closed
}
