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
	keptName  = "skills"
	keptSkill = 20_000 // of one
	keptAll   = 60_000
)

// keeping has the skills that were loaded stay when the conversation is made
// shorter: what they say holds until the end of the work.
func (a *agent) keeping(s *session.Session) {
	s.Keep(keptName, func() string {
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
	found := skillsKept(session.Kept(msgs, keptName))
	last := -1
	for i, m := range msgs {
		if m.Role == oneloop.User && m.Meta.Source == "" && !slices.ContainsFunc(m.Blocks, isResult) {
			last = i
		}
	}
	loads := map[string]bool{} // ids of calls
	for i, m := range msgs {
		for _, c := range m.ToolUses() {
			loads[c.ID] = c.Name == "Skill" || c.Name == "load_skill"
		}
		if m.Role != oneloop.User {
			continue
		}
		for _, b := range m.Blocks {
			s, ok := skillIn(b, loads)
			if !ok {
				continue
			}
			found = slices.DeleteFunc(found, func(o loadedSkill) bool { return o.name == s.name })
			if i != last {
				found = append(found, s)
			}
		}
	}
	var kept, gone []string
	for _, s := range slices.Backward(found) {
		text := closedOnce(s.text)
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

// skillIn is the skill whose text a block is: what the person called, or the
// answer of a call that loads one. Other answers may look like it.
func skillIn(b oneloop.Block, loads map[string]bool) (loadedSkill, bool) {
	var text string
	switch b := b.(type) {
	case *oneloop.Text:
		text = b.Text
	case *oneloop.ToolResult:
		if loads[b.ID] && !b.IsError {
			text = b.Text()
		}
	}
	text = strings.TrimSpace(text)
	s, ok := asSkill(text)
	return s, ok && strings.HasSuffix(text, skillEnd)
}

// skillsKept are the skills that a summary carries.
func skillsKept(text string) (found []loadedSkill) {
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

// closedOnce is the text of a skill in which only the last line ends it: another
// such line would where the text is looked for in a summary.
func closedOnce(text string) string {
	body, ok := strings.CutSuffix(text, "\n"+skillEnd)
	if !ok {
		return text
	}
	return strings.ReplaceAll(body, "\n"+skillEnd, "\n "+skillEnd) + "\n" + skillEnd
}

func asSkill(text string) (loadedSkill, bool) {
	rest, ok := strings.CutPrefix(text, skillBegin+`"`)
	name, _, closed := strings.Cut(rest, `"`)
	return loadedSkill{name, text}, ok && closed
}
