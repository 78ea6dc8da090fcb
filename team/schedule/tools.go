package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"oneloop"
	"oneloop/tool"
)

type createInput struct {
	Cron      string `json:"cron"`
	Prompt    string `json:"prompt"`
	Recurring *bool  `json:"recurring,omitempty"`
	Durable   bool   `json:"durable,omitempty"`
}

type deleteInput struct {
	ID string `json:"id"`
}

// Tools are CronCreate, CronList and CronDelete.
func (s *Schedule) Tools() []oneloop.Tool {
	create := tool.New("CronCreate", "Have prompt said to you at local times: cron has 5 fields. recurring is true by default; without durable it ends with this session.", s.create)
	list := tool.New("CronList", "What is scheduled.", func(context.Context, struct{}) (string, error) { return s.told() })
	list.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	remove := tool.New("CronDelete", "Delete an entry of the schedule.", s.remove)
	remove.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.Idempotent }
	return []oneloop.Tool{create, list, remove}
}

// Aliases are the names that lessons have for the tools: schedule_cron,
// list_crons, cancel_cron{job_id}.
func Aliases() map[string]oneloop.Alias {
	same := func(input json.RawMessage) (json.RawMessage, error) { return input, nil }
	return map[string]oneloop.Alias{
		"schedule_cron": {Tool: "CronCreate", Input: same},
		"list_crons":    {Tool: "CronList", Input: same},
		"cancel_cron": {Tool: "CronDelete", Input: func(input json.RawMessage) (json.RawMessage, error) {
			var in map[string]json.RawMessage
			if err := json.Unmarshal(input, &in); err != nil {
				return nil, err
			}
			if id, ok := in["job_id"]; ok && in["id"] == nil {
				in["id"] = id
				delete(in, "job_id")
			}
			return json.Marshal(in)
		}},
	}
}

func (s *Schedule) create(ctx context.Context, in createInput) (string, error) {
	e, err := s.Add(ctx, Entry{Cron: in.Cron, Prompt: in.Prompt, Recurring: in.Recurring == nil || *in.Recurring, Passing: !in.Durable})
	if err != nil {
		return "", err
	}
	said := fmt.Sprintf("%s is due next at %s", e.ID, e.Next.Format("2006-01-02 15:04 MST"))
	if e.Recurring {
		said += fmt.Sprintf(", again and again until it is deleted, for %d days at most", int(MaxAge.Hours()/24))
	}
	if e.Passing {
		said += "; it ends with this session"
	}
	return said + ".", nil
}

func (s *Schedule) told() (string, error) {
	list, err := s.List()
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "Nothing is scheduled.", nil
	}
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.String() + "\n")
	}
	return b.String(), nil
}

func (s *Schedule) remove(ctx context.Context, in deleteInput) (string, error) {
	switch err := s.Delete(ctx, in.ID); {
	case errors.Is(err, ErrNone):
		return "", fmt.Errorf("%w; CronList shows those there are", err)
	case err != nil:
		return "", err
	}
	return in.ID + " is deleted.", nil
}
