package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/model/gemini"
)

func answer(r *http.Request, status int, contentType, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

func copyAll(w io.Writer, r io.Reader) (int64, error) { return io.Copy(w, r) }

// said is an event with these parts, and its end.
func said(finish string, parts ...string) string {
	if finish != "" {
		finish = `,"finishReason":"` + finish + `"`
	}
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}` + finish + `}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"totalTokenCount":10}}`
}

func stream(t *testing.T, events ...string) result {
	t.Helper()
	return ask(t, "gemini-3-pro", hi(), 200, "text/event-stream", sse(events...))
}

func TestEveryReasonToStopHasItsMeaning(t *testing.T) {
	text, call := `{"text":"x"}`, `{"functionCall":{"name":"Bash","args":{"a":1}}}`
	for _, c := range []struct {
		reason string
		part   string
		stop   oneloop.StopReason
	}{
		{"STOP", text, oneloop.StopEndTurn},
		{"STOP", call, oneloop.StopToolUse},
		{"MAX_TOKENS", text, oneloop.StopMaxTokens},
		{"MAX_TOKENS", call, oneloop.StopMaxTokens},
		{"SAFETY", call, oneloop.StopRefusal},
		{"RECITATION", text, oneloop.StopRefusal},
		{"BLOCKLIST", text, oneloop.StopRefusal},
		{"PROHIBITED_CONTENT", text, oneloop.StopRefusal},
		{"SPII", text, oneloop.StopRefusal},
		{"LANGUAGE", text, oneloop.StopRefusal},
		{"SOMETHING_NEW", call, "something_new"},
	} {
		got := stream(t, said(c.reason, c.part))
		if got.Err != nil || got.Message.Stop != c.stop {
			t.Errorf("%s after %s: %+v, %v", c.reason, c.part, got.Message, got.Err)
		}
	}
	for reason, retry := range map[string]oneloop.Retryable{"MALFORMED_FUNCTION_CALL": oneloop.RetryYes, "UNEXPECTED_TOOL_CALL": oneloop.RetryYes,
		"OTHER": oneloop.RetryYes, "TOO_MANY_TOOL_CALLS": oneloop.RetryNo, "MISSING_THOUGHT_SIGNATURE": oneloop.RetryNo} {
		got := stream(t, said("", text), said(reason))
		var e *oneloop.APIError
		if !errors.As(got.Err, &e) || e.Type != reason || e.Retry != retry {
			t.Errorf("%s: %v", reason, got.Err)
		}
		if d, ok := got.Events[len(got.Events)-1].(oneloop.Discard); !ok || d.Usage.Input != 7 {
			t.Errorf("%s: %+v", reason, got.Events)
		}
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	got := stream(t, `{"promptFeedback":{"blockReason":"OTHER","safetyRatings":[]},"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9}}`)
	if got.Err != nil || got.Message.Stop != oneloop.StopRefusal || len(got.Message.Blocks) != 0 || got.Message.Usage.Input != 9 {
		t.Fatalf("%+v, %v", got.Message, got.Err)
	}
	if why := string(got.Message.Meta.StopDetails); why != `{"category":"OTHER","explanation":"","safetyRatings":[]}` {
		t.Error(why)
	}
	got = stream(t, `{"candidates":[{"finishReason":"SAFETY","finishMessage":"no \"that\""}]}`)
	if got.Err != nil || string(got.Message.Meta.StopDetails) != `{"category":"SAFETY","explanation":"no \"that\""}` {
		t.Errorf("%s, %v", got.Message.Meta.StopDetails, got.Err)
	}
}

func TestErrorsHaveAClass(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		class  error
	}{
		{400, `{"error":{"status":"INVALID_ARGUMENT","message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}`, oneloop.ErrContextOverflow},
		{400, `{"error":{"status":"INVALID_ARGUMENT","message":"Unable to submit request because the input token count is 9 but model only supports up to 5."}}`, oneloop.ErrContextOverflow},
		{429, `{"error":{"status":"RESOURCE_EXHAUSTED","message":"Your prepayment credits are depleted."}}`, oneloop.ErrBilling},
		{400, `{"error":{"status":"INVALID_ARGUMENT","message":"Request payload size exceeds the limit: 20971520 bytes."}}`, oneloop.ErrTooLarge},
		{400, `{"error":{"status":"INVALID_ARGUMENT","message":"x","details":[{"reason":"API_KEY_INVALID"}]}}`, oneloop.ErrAuth},
		{400, `{"error":{"status":"FAILED_PRECONDITION","message":"Please enable billing"}}`, oneloop.ErrBilling},
		{403, `{"error":{"status":"PERMISSION_DENIED","message":"x"}}`, oneloop.ErrAuth},
		{404, `{"error":{"status":"NOT_FOUND","message":"x"}}`, oneloop.ErrNotFound},
		{503, `{"error":{"status":"UNAVAILABLE","message":"x"}}`, oneloop.ErrOverloaded},
		{500, `[{"error":{"status":"INTERNAL","message":"in a list"}}]`, oneloop.ErrServer},
		{504, `{"error":{"status":"DEADLINE_EXCEEDED","message":"x"}}`, oneloop.ErrServer},
		{200, `{"error":{"status":"UNAVAILABLE","message":"in an answer"}}`, oneloop.ErrOverloaded},
		{200, `[{"error":{"status":"UNAVAILABLE","message":"in a list"}}]`, oneloop.ErrOverloaded},
		{200, "data: " + said("", `{"text":"Half"}`) + "\n\ndata: " + `{"error":{"status":"UNAVAILABLE","message":"in a stream"}}` + "\n\n", oneloop.ErrOverloaded},
		{200, `<html>`, oneloop.ErrNotAPI},
		{200, `{"hello":1}`, oneloop.ErrNotAPI},
		{200, `[]`, oneloop.ErrNotAPI},
		{200, ``, oneloop.ErrNotAPI},
		{502, `<html>`, oneloop.ErrServer},
		{200, `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, oneloop.ErrStreamCut},
	} {
		got := ask(t, "gemini-3-pro", hi(), c.status, "application/json", strings.NewReader(c.body))
		if !errors.Is(got.Err, c.class) || got.Message != nil {
			t.Errorf("%d %s: %v", c.status, c.body, got.Err)
		}
	}
}

func TestARefusedRateSaysHowLongToWait(t *testing.T) {
	for delay, want := range map[string]time.Duration{"34.4s": 34400 * time.Millisecond, "3s": 3 * time.Second, "-1s": 0, "abc": 0, "0s": 0, "99999999999s": 0} {
		got := ask(t, "m", hi(), 429, "application/json", strings.NewReader(`{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"`+delay+`"}]}}`))
		var e *oneloop.APIError
		if !errors.As(got.Err, &e) || e.RetryAfter != want || e.Class != oneloop.ErrRateLimited {
			t.Errorf("%s: %+v", delay, e)
		}
	}
}

func TestAWaitThatOnlyTheTextNamesIsKept(t *testing.T) {
	got := ask(t, "m", hi(), 429, "application/json", strings.NewReader(`{"error":{"status":"RESOURCE_EXHAUSTED","message":"You exceeded your quota. Please retry in 33.5s."}}`))
	if e, ok := errors.AsType[*oneloop.APIError](got.Err); !ok || e.RetryAfter != 33500*time.Millisecond {
		t.Errorf("%+v", e)
	}
}

func TestAQuotaOfADayIsNotTriedAgain(t *testing.T) {
	for quota, retry := range map[string]oneloop.Retryable{"GenerateRequestsPerDayPerProjectPerModel-FreeTier": oneloop.RetryNo, "GenerateRequestsPerMinutePerProjectPerModel-FreeTier": oneloop.RetryUnsaid} {
		got := ask(t, "m", hi(), 429, "application/json", strings.NewReader(`{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"`+quota+`"}]},{"retryDelay":"3s"}]}}`))
		var e *oneloop.APIError
		if !errors.As(got.Err, &e) || e.Class != oneloop.ErrRateLimited || e.Retry != retry || e.Code != quota {
			t.Errorf("%s: %+v", quota, e)
		}
	}
}

func TestACallWithAnEmptyIDIsAnsweredByTheOneItIsGiven(t *testing.T) {
	got := stream(t, said("STOP", `{"functionCall":{"name":"Bash","args":{},"id":""}}`))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	id := got.Message.ToolUses()[0].ID
	back := sent(t, "gemini-3-pro", answered(stored(t, got.Message)))
	for _, part := range []string{`{"functionCall":{"name":"Bash","args":{},"id":"` + id + `"}`, `{"functionResponse":{"id":"` + id + `"`} {
		if !strings.Contains(back, part) {
			t.Errorf("sent\n%s\nwithout\n%s", back, part)
		}
	}
}

func TestTheFourRepairsAreMadeAndGoBack(t *testing.T) {
	got := stream(t, said("STOP", `{"text":"  "}`,
		`{"functionCall":{"name":"a b","args":{}},"thoughtSignature":"s"}`,
		`{"functionCall":{"name":"Bash","args":"x","id":"i1"}}`,
		`{"functionCall":{"name":"Bash","id":"i1"}}`,
		`{"functionCall":{"name":"Bash","args":{"a":"\ud83d"},"id":"i2"}}`))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	calls := got.Message.ToolUses()
	var what []string
	for _, r := range got.Message.Meta.Repairs {
		what = append(what, fmt.Sprint(r.Block, " ", r.What))
	}
	if want := []string{"0 blank", "1 id", "1 name", "2 input", "3 id", "4 unicode"}; !reflect.DeepEqual(what, want) {
		t.Errorf("repairs %v, want %v", what, want)
	}
	if len(calls) != 4 || len(got.Message.Blocks) != 4 {
		t.Fatalf("blocks %+v", got.Message.Blocks)
	}
	if calls[0].Name != "a_b" || calls[0].Broken != "" || calls[1].Broken == "" || calls[2].ID == "i1" || string(calls[2].Input) != "{}" || calls[3].Broken == "" {
		t.Errorf("calls %+v", calls)
	}
	back := sent(t, "gemini-3-pro", answered(stored(t, got.Message)))
	for _, part := range []string{
		`{"functionCall":{"name":"a_b","args":{}},"thoughtSignature":"s"}`,
		`{"functionCall":{"name":"Bash","args":{"INVALID_JSON":"\"x\""},"id":"i1"}}`,
		`{"functionCall":{"name":"Bash","id":"` + calls[2].ID + `"}}`,
		`{"functionResponse":{"name":"a_b","response"`,
		`{"functionResponse":{"id":"` + calls[2].ID + `","name":"Bash","response"`,
	} {
		if !strings.Contains(back, part) {
			t.Errorf("sent\n%s\nwithout\n%s", back, part)
		}
	}
}

func TestACharacterSplitBetweenTwoEventsIsWhole(t *testing.T) {
	got := stream(t, said("", `{"text":"a\ud83c"}`), said("", `{"text":"\udf0db"}`), said("", `{"text":"think","thought":true}`), said("STOP", `{"text":"c"}`))
	var shown string
	for _, e := range got.Events {
		if d, ok := e.(oneloop.TextDelta); ok {
			shown += d.Text
		}
	}
	if got.Err != nil || got.Message.Text() != "a🌍bc" || shown != "a🌍bc" || len(got.Message.Blocks) != 3 {
		t.Errorf("%q, shown %q, %v", got.Message.Text(), shown, got.Err)
	}
	if raw := string(got.Message.Blocks[0].RawJSON()); raw != `{"text":"a\ud83c\udf0db"}` {
		t.Error(raw)
	}
}

func TestArgumentsThatComeInPiecesAreOneObject(t *testing.T) {
	got := stream(t,
		said("", `{"functionCall":{"name":"Edit","id":"i1","willContinue":true},"thoughtSignature":"s"}`),
		said("", `{"functionCall":{"partialArgs":[{"jsonPath":"$.file","stringValue":"a\"","willContinue":true}],"willContinue":true}}`),
		said("", `{"functionCall":{"partialArgs":[{"jsonPath":"$.file","stringValue":"\n你"},{"jsonPath":"$.n","numberValue":1.50}],"willContinue":true}}`),
		said("", `{"functionCall":{"partialArgs":[{"jsonPath":"$.list[0].x","boolValue":true},{"jsonPath":"$.list[1]['a.b']","nullValue":"NULL_VALUE"}],"willContinue":true}}`),
		said("", `{"functionCall":{}}`),
		said("STOP", `{"functionCall":{"name":"Bash","partialArgs":[{"jsonPath":"$.command","stringValue":"ls"}]}}`))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	calls := got.Message.ToolUses()
	want := `{"file":"a\"\n你","n":1.50,"list":[{"x":true},{"a.b":null}]}`
	if len(calls) != 2 || string(calls[0].Input) != want || string(calls[1].Input) != `{"command":"ls"}` || got.Message.Stop != oneloop.StopToolUse {
		t.Fatalf("%+v", calls)
	}
	if raw := string(calls[0].Raw); raw != `{"functionCall":{"name":"Edit","id":"i1","args":`+want+`},"thoughtSignature":"s"}` {
		t.Error(raw)
	}
	cut := stream(t, said("MAX_TOKENS", `{"functionCall":{"name":"Edit","partialArgs":[{"jsonPath":"$.file","stringValue":"a","willContinue":true}],"willContinue":true}}`))
	if cut.Err != nil || cut.Message.Stop != oneloop.StopMaxTokens || cut.Message.ToolUses()[0].Broken == "" {
		t.Errorf("cut at the limit: %+v, %v", cut.Message, cut.Err)
	}
	next := stream(t, said("", `{"functionCall":{"name":"Edit","partialArgs":[{"jsonPath":"$.a","numberValue":1}],"willContinue":true}}`), said("STOP", `{"functionCall":{"name":"Bash","args":{}}}`))
	if next.Err != nil || len(next.Message.ToolUses()) != 2 || string(next.Message.ToolUses()[0].Input) != `{"a":1}` || next.Message.ToolUses()[0].Broken != "" {
		t.Errorf("a call that the next one ends: %+v, %v", next.Message, next.Err)
	}
	open := stream(t, said("STOP", `{"functionCall":{"name":"Edit","willContinue":true}}`))
	if !errors.Is(open.Err, oneloop.ErrStreamCut) {
		t.Errorf("a call left open: %+v, %v", open.Message, open.Err)
	}
}

func TestPartsOfUnknownKindsAreKeptAndGoBack(t *testing.T) {
	odd := []string{`{"executableCode":{"language":"PYTHON","code":"1 < 2"}}`, `{"hologram":{"depth":18446744073709551616}}`, `{"thoughtSignature":"only"}`}
	got := stream(t, said("", odd...), said("STOP", `{"text":"x","mood":"good"}`))
	if got.Err != nil || len(got.Message.Blocks) != 4 {
		t.Fatalf("%+v, %v", got.Message, got.Err)
	}
	for i, kind := range []string{"executableCode", "hologram", "thought_signature"} {
		if o, ok := got.Message.Blocks[i].(*oneloop.Opaque); !ok || o.Type != kind {
			t.Errorf("block %d: %+v", i, got.Message.Blocks[i])
		}
	}
	back := sent(t, "gemini-3-pro", answered(stored(t, got.Message)))
	if want := strings.Join(odd, ",") + `,{"text":"x","mood":"good"}`; !strings.Contains(back, want) {
		t.Errorf("sent %s", back)
	}
}

func TestUsageCountsWhatIsCachedAndThought(t *testing.T) {
	for _, c := range []struct {
		usage string
		want  oneloop.Usage
	}{
		{`{"promptTokenCount":100,"cachedContentTokenCount":60,"toolUsePromptTokenCount":5,"candidatesTokenCount":10,"thoughtsTokenCount":20,"totalTokenCount":135}`,
			oneloop.Usage{Reported: true, Input: 45, CacheRead: 60, Output: 30, Thinking: 20}},
		{`{"promptTokenCount":100,"totalTokenCount":120}`, oneloop.Usage{Reported: true, Input: 100, Output: 20}},
		{`{"promptTokenCount":100.0,"candidatesTokenCount":null}`, oneloop.Usage{Reported: true, Input: 100}},
		{`{}`, oneloop.Usage{}}, {`null`, oneloop.Usage{}}, {`7`, oneloop.Usage{}},
		{`{"promptTokenCount":-1}`, oneloop.Usage{}}, {`{"promptTokenCount":"5"}`, oneloop.Usage{}}, {`{"promptTokenCount":5,"candidatesTokenCount":1e30}`, oneloop.Usage{}},
		{`{"candidatesTokenCount":5}`, oneloop.Usage{}}, {`{"promptTokenCount":5,"cachedContentTokenCount":9}`, oneloop.Usage{}},
	} {
		got := stream(t, `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":`+c.usage+`}`)
		if got.Err != nil || got.Message.Usage != c.want {
			t.Errorf("%s: %+v, %v", c.usage, got.Message.Usage, got.Err)
		}
	}
}

func TestAnInterruptedReplyKeepsItsTextAlone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r, Request: req}, nil
	})}
	m, err := gemini.New(gemini.Config{Key: key, Model: "gemini-3-pro", Client: client})
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(w, sse(said("", `{"text":"hm","thought":true}`, `{"text":"I will "}`), said("", `{"text":"look"}`, `{"text":"","thoughtSignature":"s"}`, `{"functionCall":{"name":"Bash","args":{}}}`)))
	msg, err := m.Generate(ctx, hi(), func(e oneloop.Event) {
		if _, ok := e.(oneloop.InputDelta); ok {
			cancel(oneloop.ErrInterrupted)
		}
	})
	if err != nil || msg.Stop != oneloop.StopInterrupted || msg.Text() != "I will look" || len(msg.Blocks) != 1 || !msg.Usage.Reported {
		t.Errorf("%+v, %v", msg, err)
	}
}

func TestAReplyEndsWithItsReasonWhateverFollows(t *testing.T) {
	for _, tail := range []string{"data: [DONE]\n\n", "data: {\"candi", ": ping\n\n", "data: {\"usageMetadata\":{\"promptTokenCount\":8}}\n\n", "data: no JSON\n\n"} {
		got := ask(t, "m", hi(), 200, "text/event-stream", io.MultiReader(sse(said("STOP", `{"text":"x"}`)), strings.NewReader(tail)))
		if got.Err != nil || got.Message.Text() != "x" {
			t.Errorf("%q: %v", tail, got.Err)
		}
	}
}
