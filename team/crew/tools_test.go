package crew_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"oneloop"
	"oneloop/team/crew"
	"oneloop/team/mail"
)

// box are the tools of a member.
func box(o crew.ToolOptions) *oneloop.Toolbox {
	return &oneloop.Toolbox{Tools: crew.Tools(o), Aliases: crew.Aliases()}
}

// call calls a tool and returns the result with whether it is an error.
func call(t testing.TB, b *oneloop.Toolbox, name, input string) (string, bool) {
	t.Helper()
	msg := b.Run(t.Context(), []*oneloop.ToolUse{{ID: "c", Name: name, Input: json.RawMessage(input)}}, func(oneloop.Event) {})
	r := msg.Blocks[0].(*oneloop.ToolResult)
	return r.Text(), r.IsError
}

// must calls a tool that is to succeed.
func must(t testing.TB, b *oneloop.Toolbox, name, input, want string) string {
	t.Helper()
	got, failed := call(t, b, name, input)
	if failed || !strings.Contains(got, want) {
		t.Errorf("%s %s: %v %s, want %q", name, input, failed, got, want)
	}
	return got
}

// refused calls a tool that is not to succeed.
func refused(t testing.TB, b *oneloop.Toolbox, name, input, want string) {
	t.Helper()
	if got, failed := call(t, b, name, input); !failed || !strings.Contains(got, want) {
		t.Errorf("%s %s: %v %s, want %q", name, input, failed, got, want)
	}
}

// team are three members, and their tools.
func team(t testing.TB, o crew.Options) (c *crew.Crew, lead, worker, other *oneloop.Toolbox) {
	c = open(t, t.TempDir(), o)
	tools := func(name string) *oneloop.Toolbox {
		seat := join(t, c, name)
		m, err := seat.Mailbox(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return box(crew.ToolOptions{Crew: c, Name: name, Lead: "lead", Seat: seat, Mailbox: m})
	}
	return c, tools("lead"), tools("worker"), tools("other")
}

func waiting(t testing.TB, c *crew.Crew, name string) []mail.Message {
	t.Helper()
	list, err := c.Mail().Waiting(name)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestMessagesAreSentInEveryShapeThatModelsKnow(t *testing.T) {
	c, lead, _, _ := team(t, crew.Options{})
	for i, input := range []string{
		`{"to":"worker","message":"1"}`,
		`{"to":"worker","message":"1","summary":"one"}`,
		`{"type":"message","recipient":"worker","content":"1","summary":"one"}`,
		`{"to":"worker","content":"1","type":"message","reply_to":"x"}`,
	} {
		must(t, lead, "SendMessage", input, "Sent to worker: message ")
		list := waiting(t, c, "worker")
		if m := list[len(list)-1]; len(list) != i+1 || m.Text != "1" || m.From != "lead" || m.Kind != mail.Plain {
			t.Errorf("%s: %+v", input, list)
		}
	}
	must(t, lead, "send_message", `{"to":"worker","content":"2"}`, "Sent to worker")
	must(t, lead, "send_message", `{"to":"worker","content":"2","msg_type":"message"}`, "Sent to worker")
	for _, input := range []string{`{"to":"*","message":"all"}`, `{"type":"broadcast","content":"all","summary":"s"}`} {
		must(t, lead, "SendMessage", input, "Sent to worker, other.")
	}
	must(t, lead, "broadcast", `{"content":"all"}`, "Sent to worker, other.")
	if list := waiting(t, c, "other"); len(list) != 3 || list[2].Kind != mail.ToAll {
		t.Errorf("other has %+v", list)
	}
	refused(t, lead, "SendMessage", `{"to":"lead","message":"x"}`, "to yourself")
	refused(t, lead, "SendMessage", `{"to":"nobody","message":"x"}`, "There are: lead, worker, other")
	refused(t, lead, "SendMessage", `{"to":"worker","message":" "}`, "blank")
	refused(t, lead, "SendMessage", `{"to":"worker"}`, "blank")
	refused(t, lead, "SendMessage", `{"to":"worker","message":["x"]}`, "message is no text")
	refused(t, lead, "SendMessage", `{"to":"worker","message":{"type":{}}}`, "Nothing was sent")
	refused(t, lead, "SendMessage", `{"to":"worker","message":"x","type":"order"}`, "The types are")
	refused(t, lead, "send_message", `{"to":"../../etc/x","content":"x"}`, "no agent named")
}

// TestAModelCannotSayWhoItIs is the series' impersonation by the tool's input.
func TestAModelCannotSayWhoItIs(t *testing.T) {
	c, _, worker, _ := team(t, crew.Options{})
	refused(t, worker, "SendMessage", `{"to":"other","message":"x","from":"lead"}`, "from")
	refused(t, worker, "send_message", `{"to":"other","content":"x","sender":"lead"}`, "sender")
	must(t, worker, "SendMessage", `{"to":"other","message":{"type":"message","from":"lead","content":"x"}}`, "Sent")
	for _, m := range waiting(t, c, "other") {
		if m.From != "worker" {
			t.Errorf("%+v", m)
		}
	}
}

// id is the id in a result.
func id(t testing.TB, text string) string {
	t.Helper()
	_, after, ok := strings.Cut(text, "request ")
	if !ok {
		t.Fatalf("no request in %q", text)
	}
	return strings.FieldsFunc(after, func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') })[0]
}

func TestShuttingDownIsAskedForAndAnswered(t *testing.T) {
	for name, shape := range map[string]struct{ ask, yes, no string }{
		"ours":            {`SendMessage {"type":"shutdown_request","to":"worker","message":"done"}`, `SendMessage {"type":"shutdown_response","request_id":"%s","approve":true,"message":"bye"}`, `SendMessage {"type":"shutdown_response","request_id":"%s","approve":false,"message":"no"}`},
		"objects":         {`SendMessage {"to":"worker","message":{"type":"shutdown_request","reason":"done"}}`, `SendMessage {"to":"lead","message":{"type":"shutdown_response","request_id":"%s","approve":true}}`, `SendMessage {"to":"lead","message":{"type":"shutdown_response","request_id":"%s","approve":false,"reason":"no"}}`},
		"flat":            {`SendMessage {"type":"shutdown_request","recipient":"worker","content":"done"}`, `SendMessage {"type":"shutdown_response","request_id":"%s","approve":"true"}`, `SendMessage {"type":"shutdown_response","request_id":"%s","approve":false,"content":"no"}`},
		"lessons":         {`shutdown_request {"teammate":"worker"}`, `shutdown_response {"request_id":"%s","approve":true}`, `shutdown_response {"request_id":"%s","approve":false,"reason":"no"}`},
		"the later track": {`request_shutdown {"teammate":"worker"}`, `shutdown_response {"request_id":"%s","approve":true}`, `shutdown_response {"request_id":"%s","approve":false,"reason":"no"}`},
	} {
		c, lead, worker, other := team(t, crew.Options{})
		do := func(b *oneloop.Toolbox, what, id string) (string, bool) {
			tool, input, _ := strings.Cut(strings.ReplaceAll(what, "%s", id), " ")
			return call(t, b, tool, input)
		}
		for answer, want := range map[string]crew.Status{shape.no: crew.Rejected, shape.yes: crew.Approved} {
			said, failed := do(lead, shape.ask, "")
			if failed {
				t.Fatal(name, said)
			}
			r := id(t, said)
			if said, failed := do(other, answer, r); !failed || !strings.Contains(said, "asked of worker") {
				t.Errorf("%s: another one answers: %s", name, said)
			}
			if said, failed := do(worker, answer, r); failed || !strings.HasPrefix(said, "lead is told") {
				t.Errorf("%s: %s", name, said)
			}
			if said, failed := do(worker, answer, r); !failed || !strings.Contains(said, "answered once") {
				t.Errorf("%s: a second time: %s", name, said)
			}
			if got, err := c.Request(t.Context(), r); err != nil || got.Status != want || want == crew.Rejected && got.Answer != "no" {
				t.Errorf("%s: %+v %v", name, got, err)
			}
			must(t, lead, "ListAgents", `{"request_id":"`+r+`"}`, string(want))
		}
	}
}

func TestTheOneRequestThatWaitsNeedsNoId(t *testing.T) {
	_, lead, worker, other := team(t, crew.Options{})
	refused(t, worker, "SendMessage", `{"type":"shutdown_response","approve":true}`, "0 of that kind")
	must(t, lead, "SendMessage", `{"type":"shutdown_request","to":"worker"}`, "Asked worker")
	refused(t, worker, "SendMessage", `{"type":"shutdown_response","message":"yes"}`, "approve: true or false")
	refused(t, worker, "SendMessage", `{"type":"shutdown_response","approve":"perhaps"}`, "approve: true or false")
	must(t, other, "SendMessage", `{"type":"shutdown_request","to":"worker"}`, "Asked worker")
	refused(t, worker, "SendMessage", `{"type":"shutdown_response","approve":true}`, "2 of that kind")
}

// TestNothingIsDoneBeforeThePlanIsApproved is the series' gate, behind which a teammate
// may go on.
func TestNothingIsDoneBeforeThePlanIsApproved(t *testing.T) {
	c, lead, worker, _ := team(t, crew.Options{})
	type result struct {
		text   string
		failed bool
	}
	for _, shape := range []string{`SendMessage {"type":"plan_approval_request","message":"1. dig"}`, `submit_plan {"plan":"1. dig"}`, `plan_approval {"plan":"1. dig"}`} {
		for _, answer := range []string{`SendMessage {"type":"plan_approval_response","request_id":"%s","approve":%v,"message":"as you say"}`,
			`SendMessage {"to":"worker","message":{"type":"plan_approval_response","request_id":"%s","approve":%v,"feedback":"as you say"}}`,
			`review_plan {"request_id":"%s","approve":%v,"feedback":"as you say"}`, `plan_approval {"request_id":"%s","approve":%v,"feedback":"as you say"}`} {
			for _, yes := range []bool{true, false} {
				ended := make(chan result, 1)
				go func() {
					tool, input, _ := strings.Cut(shape, " ")
					text, failed := call(t, worker, tool, input)
					ended <- result{text, failed}
				}()
				r := pending(t, c, "lead")
				if got := waiting(t, c, "lead"); got[len(got)-1].Kind != mail.PlanRequest || got[len(got)-1].Text != "1. dig" || got[len(got)-1].Request != r.ID {
					t.Errorf("lead reads %+v", got)
				}
				select {
				case got := <-ended:
					t.Fatalf("%s: it goes on: %+v", shape, got)
				default:
				}
				tool, input, _ := strings.Cut(fmt.Sprintf(answer, r.ID, yes), " ")
				must(t, lead, tool, input, "worker is told")
				got := <-ended
				if got.failed == yes || !strings.Contains(got.text, "as you say") || !strings.Contains(got.text, map[bool]string{true: "Carry it out", false: "Do nothing of it"}[yes]) {
					t.Errorf("%s, %v: %+v", shape, yes, got)
				}
			}
		}
		c, lead, worker, _ = team(t, crew.Options{})
	}
	if list := waiting(t, c, "worker"); len(list) > 0 {
		t.Errorf("who waited gets a message too: %+v", list)
	}
}

// pending waits until a request is pending.
func pending(t testing.TB, c *crew.Crew, to string) crew.Request {
	t.Helper()
	m := open(t, c.Dir(), crew.Options{}) // sees what the other does
	for {
		list, err := m.Requests(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]bool{}
		for _, m := range waiting(t, c, to) {
			told[m.Request] = true
		}
		for _, r := range list {
			if r.To == to && r.Status == crew.Pending && told[r.ID] {
				return r
			}
		}
	}
}

func TestAPlanThatNobodyAnswersComesBack(t *testing.T) {
	_, _, worker, _ := team(t, crew.Options{Expiry: 1})
	refused(t, worker, "submit_plan", `{"plan":"x"}`, "lead has not answered in 1ns")
	refused(t, worker, "submit_plan", `{"plan":" "}`, "blank")
	refused(t, worker, "SendMessage", `{"type":"plan_approval_request","to":"worker","message":"x"}`, "you are worker")

	c, lead, worker, _ := team(t, crew.Options{})
	ended := make(chan string, 1)
	go func() {
		text, _ := call(t, worker, "submit_plan", `{"plan":"x"}`)
		ended <- text
	}()
	r := pending(t, c, "lead")
	must(t, lead, "shutdown_request", `{"teammate":"worker"}`, "Asked worker")
	if got := <-ended; !strings.Contains(got, "asked to shut down") {
		t.Error(got)
	}
	if got, err := c.Request(t.Context(), r.ID); err != nil || got.Status != crew.Withdrawn {
		t.Errorf("%+v %v", got, err)
	}
	if got := states(t, c); got != "lead working, worker working, other working" {
		t.Error(got)
	}
}

func TestAPlanIsWithdrawnWhenTheTurnIsStopped(t *testing.T) {
	c, _, worker, _ := team(t, crew.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		worker.Run(ctx, []*oneloop.ToolUse{{ID: "c", Name: "submit_plan", Input: json.RawMessage(`{"plan":"x"}`)}}, func(oneloop.Event) {})
		close(ended)
	}()
	r := pending(t, c, "lead")
	cancel()
	<-ended
	if got, err := c.Request(t.Context(), r.ID); err != nil || got.Status != crew.Withdrawn {
		t.Errorf("%+v %v", got, err)
	}
}

func TestTheTeamIsListed(t *testing.T) {
	_, lead, worker, _ := team(t, crew.Options{})
	must(t, lead, "shutdown_request", `{"teammate":"worker"}`, "Asked worker")
	got := must(t, worker, "list_teammates", `{}`, "lead: working, role of lead\nworker (you): working, role of worker\nother: working, role of other\nrequest ")
	if !strings.HasSuffix(got, "shutdown, from lead to worker: pending") {
		t.Error(got)
	}
	refused(t, worker, "ListAgents", `{"request_id":"x"}`, "no request")
}

func TestTheInboxIsReadOnce(t *testing.T) {
	_, lead, worker, _ := team(t, crew.Options{})
	must(t, worker, "read_inbox", `{}`, "no messages")
	must(t, lead, "SendMessage", `{"to":"worker","message":"one"}`, "Sent")
	must(t, lead, "SendMessage", `{"to":"worker","message":"two"}`, "Sent")
	msg := worker.Run(t.Context(), []*oneloop.ToolUse{{ID: "c", Name: "check_inbox", Input: json.RawMessage(`{}`)}}, func(oneloop.Event) {})
	if seen := mail.Seen([]*oneloop.Message{msg}); len(seen) != 2 {
		t.Errorf("what it gave is not seen: %v", seen)
	}
	must(t, worker, "read_inbox", `{}`, "no messages")
}

func TestTheToolsAreShort(t *testing.T) {
	_, lead, _, _ := team(t, crew.Options{})
	total := 0
	for _, d := range lead.Defs() {
		if !json.Valid(d.Schema) {
			t.Errorf("the schema of %s: %s", d.Name, d.Schema)
		}
		total += len(d.Name) + len(d.Description) + len(d.Schema)
	}
	if total > 1300 {
		t.Errorf("%d bytes in every request", total)
	}
}
