package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"oneloop"
	"oneloop/tool"
)

type memoryInput struct {
	Action      string `json:"action"`
	Name        string `json:"name,omitempty"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Text        string `json:"text,omitempty"`
}

const memorySchema = `{"type":"object","properties":{"action":{"enum":["list","read","write","delete"]},"name":{"type":"string"},"type":{"enum":["user","feedback","project","reference"]},"description":{"type":"string"},"text":{"type":"string"}}}`

// reader is one agent's knowledge of a memory.
type reader struct {
	memory *Memory

	mu   sync.Mutex
	seen map[string]Note
}

// Tool lets a model keep and read notes. Each agent has one of its own: it knows
// which notes that agent has read, and only those does it replace.
func (m *Memory) Tool() oneloop.Tool {
	r := &reader{memory: m, seen: map[string]Note{}}
	// Made when first called, to keep it out of the start of the program.
	made := sync.OnceValue(func() oneloop.Tool { return tool.New("Memory", "", r.run) })
	return oneloop.Tool{
		ToolDef: oneloop.ToolDef{
			Name: "Memory", Description: "Your notes for later sessions: what no file tells. No secrets.", Schema: json.RawMessage(memorySchema),
		},
		Check: func(call json.RawMessage) error { return made().Check(call) },
		Effect: func(call *oneloop.ToolUse) oneloop.Effect {
			var in memoryInput
			if json.Unmarshal(call.Input, &in) == nil && (in.Action == "list" || in.Action == "read") {
				return oneloop.ReadOnly
			}
			return oneloop.Idempotent
		},
		Run: func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return made().Run(ctx, call, emit)
		},
	}
}

func (r *reader) run(ctx context.Context, in memoryInput) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in.Name = strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(in.Name), ".md"), " ", "-"))
	switch in.Action {
	case "list":
		return r.list()
	case "read":
		n, err := r.memory.Read(in.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return "", r.none(in.Name)
		}
		if n.file != "" {
			r.seen[n.Name] = n
		}
		if err != nil {
			return n.file, nil // as it stands
		}
		return fmt.Sprintf("%s\nwritten %s\n\n%s", n.Line(), n.Changed.UTC().Format("2006-01-02 15:04 UTC"), n.Text), nil
	case "write":
		n, err := r.memory.Write(ctx, Note{Name: in.Name, Type: in.Type, Description: in.Description, Text: in.Text}, r.seen[in.Name])
		if err != nil {
			return "", r.notKept(err)
		}
		r.seen[in.Name] = n
		return "Kept.", nil
	case "delete":
		err := r.memory.Delete(ctx, in.Name, r.seen[in.Name])
		if errors.Is(err, fs.ErrNotExist) {
			return "", r.none(in.Name)
		}
		if err != nil {
			return "", r.notKept(err)
		}
		delete(r.seen, in.Name)
		return "Deleted.", nil
	}
	return "", fmt.Errorf("action: %q is none; it is list, read, write or delete", in.Action)
}

func (r *reader) list() (string, error) {
	notes, others, err := r.memory.List()
	if err != nil {
		return "", err
	}
	var lines []string
	for _, n := range notes {
		lines = append(lines, n.Line())
	}
	if len(others) > 0 {
		lines = append(lines, "no notes, by their form: "+strings.Join(others, ", "))
	}
	if len(lines) == 0 {
		return "There are no notes.", nil
	}
	return strings.Join(lines, "\n"), nil
}

func (r *reader) none(name string) error {
	return fmt.Errorf("there is no note %q; list names them", name)
}

// notKept is why a note is as it was. Of one that another session has changed the
// model sees what it is, so that the next call can bring both together.
func (r *reader) notKept(err error) error {
	var changed *ChangedError
	if !errors.As(err, &changed) {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if changed.Now.Name == "" {
		delete(r.seen, changed.name)
		return fmt.Errorf("nothing was changed: %w. Call again to keep it nevertheless", err)
	}
	r.seen[changed.name] = changed.Now
	return fmt.Errorf("nothing was changed: %w. It says what follows; call again with what is to remain of both.\n\n%s", err, changed.Now.file)
}
