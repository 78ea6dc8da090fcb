package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"oneloop"
	"oneloop/tool"
)

// SkillOptions are the options of [SkillTool].
type SkillOptions struct {
	List []*Skill
	// Load gives the text of a skill, as [Skill.Text] does. Nil: that, without
	// commands.
	Load func(ctx context.Context, k *Skill, args string, emit func(oneloop.Event)) (string, error)
}

// mostCatalogue is how long the list of skills may be in bytes: it is paid for
// with each request. Longer descriptions are cut then, names are not.
const mostCatalogue = 16 << 10

type skillInput struct {
	Skill string `json:"skill"`
	Args  string `json:"args,omitempty"`
}

const skillDoc = "Load a skill: instructions for one kind of task. Do so before you begin on one that it fits."

// SkillTool is the tool by which the model loads a skill: its description
// lists names and descriptions, its result is the skill's text. false: there is
// no skill that the model may load.
func SkillTool(o SkillOptions) (oneloop.Tool, bool) {
	list := slices.DeleteFunc(slices.Clone(o.List), func(k *Skill) bool { return !k.ByModel || k.Place.Commands })
	if len(list) == 0 {
		return oneloop.Tool{}, false
	}
	t := tool.New("Skill", skillDoc+Catalogue(list), func(context.Context, skillInput) (string, error) { return "", nil })
	t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		var in skillInput
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return nil, fmt.Errorf("read the input of Skill: %w", err)
		}
		k := Named(list, strings.TrimPrefix(in.Skill, "/"))
		if k == nil {
			return nil, unknown(in.Skill, list, o.List)
		}
		load := o.Load
		if load == nil {
			load = func(ctx context.Context, k *Skill, args string, _ func(oneloop.Event)) (string, error) {
				return k.Text(ctx, Call{Args: args})
			}
		}
		text, err := load(ctx, k, in.Args, emit)
		if err != nil {
			return nil, fmt.Errorf("the skill %s was not loaded: %w", k.Name, err)
		}
		return oneloop.TextResult(text), nil
	}
	return t, true
}

// unknown says what there is instead of a skill that is not.
func unknown(name string, list, all []*Skill) error {
	if k := Named(all, name); k != nil {
		return fmt.Errorf("%s is for the user to call, with /%s. Go on without it, or say that they should", name, name)
	}
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = k.Name
	}
	return errors.New("there is no skill of that name. There are: " + strings.Join(names, ", "))
}

// Catalogue lists skills for the model, a line for each.
func Catalogue(list []*Skill) string {
	size := 0
	for _, k := range list {
		size += len("\n- : ") + len(k.Name) + len(k.Description)
	}
	most := longestDescription
	if size > mostCatalogue {
		most = max(40, mostCatalogue/len(list)/2)
	}
	var b strings.Builder
	for _, k := range list {
		fmt.Fprintf(&b, "\n- %s: %s", k.Name, shorten(k.Description, most))
	}
	return b.String()
}
