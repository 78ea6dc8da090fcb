package tool

import (
	"encoding/json"
	"fmt"

	"oneloop"
)

// Aliases are other names of the tools that models and lessons know:
// read_file{path, limit}, write_file{path, content},
// edit_file{path, old_text, new_text}, todo{items}, todo_write{todos},
// load_skill{name}, background_run{command, timeout}, whose timeout is in
// seconds, and check_background{task_id}. Fields may have the tools' own names
// too.
func Aliases() map[string]oneloop.Alias {
	return map[string]oneloop.Alias{
		"read_file":  {Tool: "Read", Input: renamed("path", "file_path")},
		"write_file": {Tool: "Write", Input: renamed("path", "file_path")},
		"edit_file":  {Tool: "Edit", Input: renamed("path", "file_path", "old_text", "old_string", "new_text", "new_string")},
		"todo":       {Tool: "TodoWrite", Input: todoAlias},
		"todo_write": {Tool: "TodoWrite", Input: todoAlias},
		"load_skill": {Tool: "Skill", Input: renamed("name", "skill")},

		"background_run":   {Tool: "Bash", Input: backgroundAlias},
		"check_background": {Tool: "TaskOutput", Input: renamed()},
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

// backgroundAlias is a command that is to run in the background.
func backgroundAlias(input json.RawMessage) (json.RawMessage, error) {
	if err := oneloop.CheckObject(input); err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, err
	}
	if given, ok := fields["timeout"]; ok {
		var seconds float64
		if err := json.Unmarshal(given, &seconds); err != nil || seconds < 0 || seconds > 1e9 {
			return nil, fmt.Errorf("its timeout is no number of seconds")
		}
		fields["timeout"] = fmt.Appendf(nil, "%.0f", seconds*1000)
	}
	fields["run_in_background"] = json.RawMessage("true")
	return json.Marshal(fields)
}
