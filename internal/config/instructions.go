package config

import (
	"path/filepath"

	"oneloop/policy"
	"oneloop/prompt"
)

// instructions reads what instructs the model, given what of it the folder has.
// The user's own is AGENTS.md beside the settings; where there is none, the one
// that they have for another agent.
func (l *loader) instructions(dir string, found []policy.Finding) []policy.Finding {
	names := make([]string, len(found)) // not nil, also when nothing is there
	for i, f := range found {
		names[i] = f.Name
	}
	o := prompt.InstructionOptions{
		Dir: dir, Home: l.home, Present: names,
		Private: func(path string) bool { return policy.HoldsCredentials(path, l.home) },
	}
	if l.out.ConfigDir != "" {
		o.Own = append(o.Own, filepath.Join(l.out.ConfigDir, "AGENTS.md"))
	}
	if l.home != "" {
		o.Own = append(o.Own, filepath.Join(l.home, ".claude", "CLAUDE.md"))
	}
	in := prompt.FindInstructions(o)
	l.out.Instructions = in
	for _, n := range in.Notices {
		l.notice("%s", n)
	}
	var list []policy.Finding
	for _, f := range in.Files {
		if !f.Own {
			list = append(list, policy.FoundFile(f.Name, policy.Instructions, []byte(f.BOM+f.Text), nil))
		}
	}
	return list
}
