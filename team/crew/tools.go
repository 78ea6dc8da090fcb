package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"oneloop"
	"oneloop/team/mail"
	"oneloop/tool"
)

// ToolOptions make the tools of one member. Crew and Name are needed.
type ToolOptions struct {
	Crew *Crew
	Name string // the member: who messages are from, whatever its model says
	Lead string // who is asked to approve plans when the model names nobody

	// Seat is the member's, to say that it waits while it does; nil: nobody says so.
	Seat *Seat

	// Mailbox is the member's, for CheckInbox; nil: there is no such tool. What it
	// gives to the model is taken, and the program's to acknowledge.
	Mailbox *mail.Mailbox
}

// Tools are SendMessage and ListAgents, and with a mailbox CheckInbox.
func Tools(o ToolOptions) []oneloop.Tool {
	list := []oneloop.Tool{o.send(), o.list()}
	if o.Mailbox != nil {
		list = append(list, o.check())
	}
	return list
}

// sendInput is the input of SendMessage: what is offered, and what models add that
// know the tool from elsewhere.
type sendInput struct {
	To        string          `json:"to,omitempty"`
	Message   json.RawMessage `json:"message,omitempty"` // text, or an object with type, request_id, approve, reason or feedback
	Summary   string          `json:"summary,omitempty"`
	Type      string          `json:"type,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
	Approve   json.RawMessage `json:"approve,omitempty"` // true or false, some write it as text

	Recipient string `json:"recipient,omitempty"` // To
	Content   string `json:"content,omitempty"`   // Message
	Reason    string `json:"reason,omitempty"`    // Message
	Feedback  string `json:"feedback,omitempty"`  // Message
	ReplyTo   string `json:"reply_to,omitempty"`
}

const sendDoc = "Write to another agent of the team; it sees nothing else of what you say. Answers come by themselves. " +
	"A shutdown_request or plan_approval_request must be answered with the matching _response, its request_id and approve."

const sendSchema = `{"type":"object","properties":{"to":{"type":"string","description":"a name, or * for all"},"message":{"type":"string"},"summary":{"type":"string"},` +
	`"type":{"enum":["message","shutdown_request","shutdown_response","plan_approval_request","plan_approval_response"]},` +
	`"request_id":{"type":"string"},"approve":{"type":"boolean"}},"required":["message"]}`

func (o ToolOptions) send() oneloop.Tool {
	t := tool.New("SendMessage", sendDoc, func(ctx context.Context, in sendInput) (string, error) {
		if err := in.tidy(); err != nil {
			return "", err
		}
		return o.deliver(ctx, in)
	})
	t.Schema = json.RawMessage(sendSchema)
	return t
}

// tidy puts each thing into the one field that is read.
func (in *sendInput) tidy() error {
	if len(in.Message) > 0 && in.Message[0] == '{' {
		var inner sendInput
		if err := json.Unmarshal(in.Message, &inner); err != nil {
			return fmt.Errorf("message is neither text nor an object with type, request_id and approve: %w. Nothing was sent.", err)
		}
		in.Message = inner.Message
		for _, f := range []struct {
			to   *string
			from string
		}{{&in.Type, inner.Type}, {&in.RequestID, inner.RequestID}, {&in.Content, inner.Content}, {&in.Reason, inner.Reason}, {&in.Feedback, inner.Feedback}} {
			if *f.to == "" {
				*f.to = f.from
			}
		}
		if in.Approve == nil {
			in.Approve = inner.Approve
		}
	}
	text := ""
	if len(in.Message) > 0 && json.Unmarshal(in.Message, &text) != nil {
		return errors.New("message is no text. Nothing was sent.")
	}
	for _, other := range []string{text, in.Content, in.Feedback, in.Reason} {
		if text == "" {
			text = other
		}
	}
	in.Content = text
	if in.To == "" {
		in.To = in.Recipient
	}
	return nil
}

// verdict is what approve says.
func (in *sendInput) verdict() (Status, error) {
	switch strings.ToLower(strings.Trim(string(in.Approve), `"`)) {
	case "true":
		return Approved, nil
	case "false":
		return Rejected, nil
	}
	return "", fmt.Errorf("an answer needs approve: true or false. Nothing was sent.")
}

func (o ToolOptions) deliver(ctx context.Context, in sendInput) (string, error) {
	switch in.Type {
	case "", string(mail.Plain):
		if in.To == "*" {
			return o.broadcast(ctx, in)
		}
		return o.message(ctx, in)
	case string(mail.ToAll):
		return o.broadcast(ctx, in)
	case string(mail.ShutdownRequest):
		r, err := o.Crew.Ask(ctx, Request{From: o.Name, To: in.To, Kind: Shutdown, Text: in.Content})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Asked %s to shut down: request %s. The answer comes as a message.", r.To, r.ID), nil
	case string(mail.PlanRequest):
		return o.plan(ctx, in)
	case string(mail.ShutdownResponse):
		return o.answer(ctx, in, Shutdown)
	case string(mail.PlanResponse):
		return o.answer(ctx, in, Plan)
	}
	return "", fmt.Errorf("%.60q is no type of message. The types are message, shutdown_request, shutdown_response, plan_approval_request, plan_approval_response. Nothing was sent.", in.Type)
}

func (o ToolOptions) message(ctx context.Context, in sendInput) (string, error) {
	m, err := o.Crew.post.Send(ctx, in.To, mail.Message{From: o.Name, Text: in.Content, Summary: in.Summary, ReplyTo: in.ReplyTo})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Sent to %s: message %s.", m.To, m.ID), nil
}

func (o ToolOptions) broadcast(ctx context.Context, in sendInput) (string, error) {
	list, err := o.Crew.post.Broadcast(ctx, mail.Message{From: o.Name, Text: in.Content, Summary: in.Summary, ReplyTo: in.ReplyTo})
	if err != nil {
		return "", err
	}
	var sent, failed []string
	for _, d := range list {
		if d.Err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", d.Message.To, d.Err))
		} else {
			sent = append(sent, d.Message.To)
		}
	}
	text := "Sent to " + strings.Join(sent, ", ") + "."
	if len(sent) == 0 {
		return "", fmt.Errorf("It was sent to nobody. %s", strings.Join(failed, "; "))
	}
	if len(failed) > 0 {
		text += " Not sent to " + strings.Join(failed, "; ")
	}
	return text, nil
}

// plan asks for approval and waits for it, so that nothing is done before.
func (o ToolOptions) plan(ctx context.Context, in sendInput) (string, error) {
	if in.To == "" {
		in.To = o.Lead
	}
	r, err := o.Crew.Ask(ctx, Request{From: o.Name, To: in.To, Kind: Plan, Text: in.Content, Waits: true})
	if err != nil {
		return "", err
	}
	if o.Seat != nil {
		if err := o.Seat.Set(ctx, Waiting); err != nil {
			return "", errors.Join(err, o.Crew.Withdraw(context.WithoutCancel(ctx), r.ID, o.Name))
		}
	}
	r, err = o.Crew.wait(ctx, r.ID, func(list []Request) bool {
		return slices.ContainsFunc(list, func(r Request) bool { return r.Kind == Shutdown && r.To == o.Name && r.Status == Pending })
	})
	if o.Seat != nil {
		err = errors.Join(err, o.Seat.Set(context.WithoutCancel(ctx), Working))
	}
	if err != nil || r.Status == Pending {
		withdrawn := o.Crew.Withdraw(context.WithoutCancel(ctx), r.ID, o.Name)
		if err == nil {
			err = fmt.Errorf("you are asked to shut down, which comes first. The plan is withdrawn, do nothing of it")
		}
		return "", errors.Join(err, withdrawn)
	}
	said := ""
	if strings.TrimSpace(r.Answer) != "" {
		said = "\n" + mail.Message{From: r.To, ID: r.ID, Kind: Plan.answers(), Text: r.Answer, Verdict: string(r.Status)}.Block().Text
	}
	switch r.Status {
	case Approved:
		return fmt.Sprintf("%s approved the plan. Carry it out.%s", r.To, said), nil
	case Rejected:
		return "", fmt.Errorf("%s rejected the plan. Do nothing of it; change it and ask again.%s", r.To, said)
	}
	return "", fmt.Errorf("%s. Do nothing of the plan", r.ended())
}

// ended says what became of a request that was not answered.
func (r Request) ended() string {
	switch r.Status {
	case Expired:
		return fmt.Sprintf("%s has not answered in %v: request %s is expired", r.To, r.Until.Sub(r.Made), r.ID)
	case Left:
		return fmt.Sprintf("%s is not there any more, so nobody answers request %s", r.To, r.ID)
	case Withdrawn:
		return fmt.Sprintf("request %s was withdrawn", r.ID)
	}
	return fmt.Sprintf("request %s is %s", r.ID, r.Status)
}

func (o ToolOptions) answer(ctx context.Context, in sendInput, kind Kind) (string, error) {
	status, err := in.verdict()
	if err != nil {
		return "", err
	}
	if in.RequestID == "" {
		list, err := o.Crew.Requests(ctx)
		if err != nil {
			return "", err
		}
		list = slices.DeleteFunc(list, func(r Request) bool { return r.Status != Pending || r.To != o.Name || r.Kind != kind })
		if len(list) != 1 {
			return "", fmt.Errorf("say which request this answers, with request_id: %d of that kind wait for you. Nothing was sent.", len(list))
		}
		in.RequestID = list[0].ID
	}
	r, err := o.Crew.Answer(ctx, o.Name, in.RequestID, kind, status, in.Content)
	if err != nil {
		return "", err
	}
	if kind == Shutdown && status == Approved {
		return fmt.Sprintf("%s is told. Finish what you are at; you are ended with this turn.", r.From), nil
	}
	return fmt.Sprintf("%s is told: %s.", r.From, status), nil
}

type listInput struct {
	RequestID string `json:"request_id,omitempty"` // what became of one
}

func (o ToolOptions) list() oneloop.Tool {
	t := tool.New("ListAgents", "Who is in the team and what they are doing, and requests that are not answered.", func(ctx context.Context, in listInput) (string, error) {
		if in.RequestID != "" {
			r, err := o.Crew.Request(ctx, in.RequestID)
			if err != nil {
				return "", err
			}
			return r.line(), nil
		}
		members, err := o.Crew.Members()
		if err != nil {
			return "", err
		}
		requests, err := o.Crew.Requests(ctx)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for _, m := range members {
			b.WriteString(m.Name)
			if m.Name == o.Name {
				b.WriteString(" (you)")
			}
			fmt.Fprintf(&b, ": %s", m.State)
			if m.Role != "" {
				fmt.Fprintf(&b, ", %s", m.Role)
			}
			b.WriteString("\n")
		}
		for _, r := range requests {
			if r.Status == Pending && (r.From == o.Name || r.To == o.Name) {
				b.WriteString(r.line() + "\n")
			}
		}
		if b.Len() == 0 {
			return "Nobody is in the team.", nil
		}
		return strings.TrimSuffix(b.String(), "\n"), nil
	})
	t.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
	t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	return t
}

func (r Request) line() string {
	s := fmt.Sprintf("request %s, %s, from %s to %s: %s", r.ID, r.Kind, r.From, r.To, r.Status)
	if r.Answer != "" {
		s += "\n" + mail.Message{From: r.To, ID: r.ID, Kind: r.Kind.answers(), Text: r.Answer, Verdict: string(r.Status)}.Block().Text
	}
	return s
}

func (o ToolOptions) check() oneloop.Tool {
	t := tool.New("CheckInbox", "Messages that came for you.", func(context.Context, struct{}) ([]oneloop.Block, error) {
		list, err := o.Mailbox.Take()
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return []oneloop.Block{&oneloop.Text{Text: "There are no messages. They come by themselves; there is no need to look again."}}, nil
		}
		var blocks []oneloop.Block
		for _, m := range list {
			blocks = append(blocks, m.Block())
		}
		return blocks, nil
	})
	return t
}

// Aliases are the names and inputs of the lessons. What they call shutdown_response and
// plan_approval is two tools each, by who calls: the input says which one is meant.
func Aliases() map[string]oneloop.Alias {
	to := func(name string, more map[string]string, rename map[string]string) oneloop.Alias {
		return oneloop.Alias{Tool: name, Input: func(input json.RawMessage) (json.RawMessage, error) {
			return renamed(input, more, rename)
		}}
	}
	send := func(typ string, rename map[string]string) oneloop.Alias {
		more := map[string]string{}
		if typ != "" {
			more["type"] = typ
		}
		return to("SendMessage", more, rename)
	}
	teammate := map[string]string{"teammate": "to"}
	plan := map[string]string{"plan": "message"}
	all := send("", nil)
	all.Input = func(input json.RawMessage) (json.RawMessage, error) {
		return renamed(input, map[string]string{"to": "*"}, map[string]string{"content": "message"})
	}
	approval := oneloop.Alias{Tool: "SendMessage", Input: func(input json.RawMessage) (json.RawMessage, error) {
		var in map[string]json.RawMessage
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, err
		}
		if in["plan"] != nil {
			return renamed(input, map[string]string{"type": string(mail.PlanRequest)}, plan)
		}
		return renamed(input, map[string]string{"type": string(mail.PlanResponse)}, nil)
	}}
	return map[string]oneloop.Alias{
		"send_message":     send("", map[string]string{"content": "message", "msg_type": "type"}),
		"broadcast":        all,
		"read_inbox":       {Tool: "CheckInbox"},
		"check_inbox":      {Tool: "CheckInbox"},
		"list_teammates":   {Tool: "ListAgents"},
		"shutdown_request": send(string(mail.ShutdownRequest), teammate),
		"request_shutdown": send(string(mail.ShutdownRequest), teammate),
		"plan_approval":    approval,
		"submit_plan":      send(string(mail.PlanRequest), plan),
		"review_plan":      send(string(mail.PlanResponse), nil),
		"request_plan": {Tool: "SendMessage", Input: func(input json.RawMessage) (json.RawMessage, error) {
			var in struct{ Teammate, Task string }
			if err := json.Unmarshal(input, &in); err != nil {
				return nil, err
			}
			return json.Marshal(map[string]string{"to": in.Teammate, "message": "Send me a plan_approval_request, and begin when it is approved: " + in.Task})
		}},
		"shutdown_response": send(string(mail.ShutdownResponse), nil),
	}
}

// StatusAlias is what shutdown_response is in the hands of who leads: it asks what became
// of a request.
func StatusAlias() oneloop.Alias { return oneloop.Alias{Tool: "ListAgents"} }

// renamed gives fields of an object other names, and adds some.
func renamed(input json.RawMessage, more, rename map[string]string) (json.RawMessage, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	for from, name := range rename {
		if v, ok := in[from]; ok && in[name] == nil {
			in[name] = v
			delete(in, from)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		v, err := json.Marshal(more[name])
		if err != nil {
			return nil, err
		}
		in[name] = v
	}
	return json.Marshal(in)
}
