package tool

import (
	"encoding/json"
	"fmt"

	"oneloop"
)

// Aliases are other names of the tools that models and lessons know:
// read_file{path, limit}, write_file{path, content},
// edit_file{path, old_text, new_text}, todo{items}, todo_write{todos} and
// load_skill{name}. Fields may have the tools' own names too.
func Aliases() map[string]oneloop.Alias {
	return map[string]oneloop.Alias{
		"read_file":  {Tool: "Read", Input: renamed("path", "file_path")},
		"write_file": {Tool: "Write", Input: renamed("path", "file_path")},
		"edit_file":  {Tool: "Edit", Input: renamed("path", "file_path", "old_text", "old_string", "new_text", "new_string")},
		"todo":       {Tool: "TodoWrite", Input: todoAlias},
		"todo_write": {Tool: "TodoWrite", Input: todoAlias},
		"load_skill": {Tool: "Skill", Input: renamed("name", "skill")},
	}
}

// renamed gives fields of an object other names, in pairs of old and new.
func renamed(names ...string) func(json.RawMessage) (json.RawMessage, error) {
	return func(input json.RawMessage) (json.RawMessage, error) {
		// A field that stands twice would be lost in a map.
		if err := oneloop.CheckObject(input); err != nil {
			return nil, err
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(input, &fields); err != nil {
			return nil, err
		}
		for i := 0; i < len(names); i += 2 {
			value, ok := fields[names[i]]
			if !ok {
				continue
			}
			if _, twice := fields[names[i+1]]; twice {
				return nil, fmt.Errorf("it has both %s and %s", names[i], names[i+1])
			}
			delete(fields, names[i])
			fields[names[i+1]] = value
		}
		return json.Marshal(fields)
	}
}
