package session_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
)

// worker is a model that calls T in rounds and then says "done". When it is
// asked for a summary it plays those instead.
type worker struct {
	t         testing.TB
	rounds    int
	usage     func(round int) oneloop.Usage
	summaries []any // *oneloop.Message or error; none left: "SUM"
	refuse    func(req *oneloop.Request) error
	blocks    []oneloop.Block // before the call of each round

	round    int
	requests []*oneloop.Request
	asked    []int // which of the requests were for a summary
}

func wish(m *oneloop.Message) bool {
	return strings.Contains(m.Text(), "Write that summary now") || strings.Contains(m.Text(), "Write the summary now")
}

func (w *worker) Generate(_ context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	w.requests = append(w.requests, req)
	emit(oneloop.RequestSent{})
	if err := looptest.CheckRequest(req); err != nil {
		w.t.Errorf("request %d: %v", len(w.requests), err)
	}
	summary := wish(req.Messages[len(req.Messages)-1])
	if summary {
		w.asked = append(w.asked, len(w.requests))
	}
	if w.refuse != nil {
		if err := w.refuse(req); err != nil {
			return nil, err
		}
	}
	if summary {
		emit(oneloop.TextDelta{Text: "not for the user"})
		if len(w.summaries) == 0 {
			return says(oneloop.StopEndTurn, text("SUM")), nil
		}
		next := w.summaries[0]
		w.summaries = w.summaries[1:]
		if err, ok := next.(error); ok {
			return nil, err
		}
		return next.(*oneloop.Message), nil
	}
	w.round++
	m := says(oneloop.StopEndTurn, text("done"))
	if w.round <= w.rounds {
		m = says(oneloop.StopToolUse, append(slices.Clone(w.blocks), call(fmt.Sprintf("r%d", w.round), "T"))...)
	}
	if w.usage != nil {
		m.Usage = w.usage(w.round)
	}
	return m, nil
}

// working is a session over a log, whose tool T answers with output.
func working(t testing.TB, w *worker, output string) *session.Session {
	w.t = t
	log := session.NewLog("", session.LogOptions{})
	box := tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return oneloop.TextResult(output), nil
	})
	log.Use(session.Setup{Model: "m", System: []oneloop.Block{text("the system prompt")}, Tools: box.Defs()})
	return &session.Session{Model: w, Tools: box, Transcript: log, Repeats: session.Repeats{End: -1}}
}

func spoken(req *oneloop.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		b.WriteString(m.Text())
		for _, x := range m.Blocks {
			if r, ok := x.(*oneloop.ToolResult); ok {
				b.WriteString(r.Text())
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

const task = "Make the\n  tests pass, 请 word for word"

func TestALongTurnIsMadeShorterBetweenItsRoundsAndGoesOn(t *testing.T) {
	w := &worker{rounds: 10, usage: func(round int) oneloop.Usage {
		if round == 3 { // most of it from the cache, as it is
			return oneloop.Usage{Reported: true, Input: 50, CacheRead: 16_000, Output: 5}
		}
		return oneloop.Usage{}
	}}
	s := working(t, w, strings.Repeat("x", 4000))
	s.Window = session.Window{Tokens: 20_000, Keep: 4000}
	kinds, err := send(t, t.Context(), s, text(task))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{4}, w.asked); diff != "" || len(w.requests) != 12 {
		t.Fatalf("%d requests; of those for summaries: %s", len(w.requests), diff)
	}
	if !strings.Contains(kinds, "message tool_start tool_end message request compacted request message tool_start") {
		t.Errorf("events are %s", kinds)
	}
	for i, req := range w.requests[4:] {
		got := spoken(req)
		if strings.Count(got, "SUM") != 1 || strings.Count(got, task) != 1 {
			t.Errorf("request %d says\n%.3000s", i+5, got)
		}
		if diff := cmp.Diff(w.requests[0].Tools, req.Tools); diff != "" {
			t.Errorf("request %d has other tools: %s", i+5, diff)
		}
	}
	if got := roles(w.requests[4]); got != "uuau" {
		t.Errorf("the summary, the prompt and the newest round are to stand there: %s", got)
	}
	if !strings.Contains(w.requests[4].Messages[0].Text(), "under way") {
		t.Error("the model is not told that its work goes on")
	}
	// The conversation was sent as it had been, so that it is read from the cache.
	before, asked := w.requests[2], w.requests[3]
	if diff := cmp.Diff(before.Messages, asked.Messages[:len(before.Messages)]); diff != "" {
		t.Errorf("what is in the cache has changed: %s", diff)
	}
}

func TestEveryCutLeavesCallsWithTheirAnswers(t *testing.T) {
	seen := map[string]bool{}
	for n := range 36 {
		window, keep := 7_000+500*(n/2), 1_200+3_000*(n%2)
		w := &worker{rounds: 12}
		s := working(t, w, strings.Repeat("y", 4096))
		s.Window = session.Window{Tokens: window, Keep: keep}
		if _, err := send(t, t.Context(), s, text(task)); err != nil {
			t.Fatal(err)
		}
		if len(w.asked) == 0 {
			t.Fatalf("window %d: nothing was made shorter", window)
		}
		for _, req := range w.requests[w.asked[0]:] {
			if got := spoken(req); !wish(req.Messages[len(req.Messages)-1]) && (strings.Count(got, task) != 1 || strings.Count(got, "SUM") != 1) {
				t.Errorf("window %d: a request says\n%.2000s", window, got)
			}
		}
		seen[fmt.Sprint(w.asked[0], roles(w.requests[w.asked[0]]))] = true
	}
	if len(seen) < 8 {
		t.Errorf("only %d different cuts were tried: %v", len(seen), seen)
	}
}

func TestChineseIsCountedAsWhatItIs(t *testing.T) {
	for _, c := range []struct {
		output string
		most   int // of its characters in a request
	}{{strings.Repeat("漢", 3000), 20_000}, {strings.Repeat("x", 12_000), 70_000}} {
		w := &worker{rounds: 30}
		s := working(t, w, c.output)
		s.Window = session.Window{Tokens: 20_000, Keep: 4000}
		if _, err := send(t, t.Context(), s, text(task)); err != nil {
			t.Fatal(err)
		}
		if len(w.asked) < 2 {
			t.Fatalf("it was made shorter %d times", len(w.asked))
		}
		for i, req := range w.requests {
			got := spoken(req)
			if n := strings.Count(got, c.output[:1]); n > c.most {
				t.Errorf("request %d has %d characters", i+1, n)
			}
			if slices.Contains(w.asked, i) && strings.Count(got, c.output) > 2 { // 4,000 tokens and half as much again
				t.Errorf("request %d keeps %d results", i+1, strings.Count(got, c.output))
			}
		}
		if n := w.asked[1] - w.asked[0]; n < 3 {
			t.Errorf("it was made shorter again after %d requests", n)
		}
	}
}

func TestASummaryThatCannotBeUsedIsMadeByRule(t *testing.T) {
	refused := &oneloop.APIError{Class: oneloop.ErrInvalidRequest, Message: "no"}
	for name, given := range map[string][]any{
		"empty":       {says(oneloop.StopEndTurn)},
		"blank":       {says(oneloop.StopEndTurn, text(" \n"))},
		"refused":     {says(oneloop.StopRefusal, text("SUM"))},
		"cut":         {says(oneloop.StopMaxTokens, text("SUM"))},
		"calls again": {says(oneloop.StopToolUse, call("s1", "T")), says(oneloop.StopToolUse, call("s2", "T"))},
		"bad request": {refused, refused},
	} {
		w := &worker{rounds: 8, summaries: given}
		s := working(t, w, strings.Repeat("x", 4000))
		s.Window = session.Window{Tokens: 8_400}
		var notices []string
		for e, err := range s.Send(t.Context(), text(task)) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n, ok := e.(oneloop.Notice); ok {
				notices = append(notices, n.Text)
			}
		}
		next := w.requests[w.asked[len(given)-1]]
		if got := spoken(next); strings.Contains(got, "SUM") || !strings.Contains(got, "by rule") || !strings.Contains(got, "- T {}") || !strings.Contains(got, task) {
			t.Errorf("%s: the next request says\n%s", name, got)
		}
		if len(notices) != 1 || !strings.Contains(notices[0], "by rule") {
			t.Errorf("%s: the user is told %q", name, notices)
		}
	}
}

func TestCallsInPlaceOfASummaryAreNotRunAndAskedAboutOnce(t *testing.T) {
	w := &worker{rounds: 6, summaries: []any{says(oneloop.StopToolUse, call("s1", "T"))}}
	ran := 0
	s := working(t, w, strings.Repeat("x", 4000))
	s.Window = session.Window{Tokens: 8_000}
	box := s.Tools.(*oneloop.Toolbox)
	run := box.Tools[0].Run
	box.Tools[0].Run = func(ctx context.Context, c *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		ran++
		return run(ctx, c, emit)
	}
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Fatal(err)
	}
	if ran != 6 || w.asked[1] != w.asked[0]+1 || strings.Count(spoken(w.requests[w.asked[1]]), "SUM") != 1 {
		t.Errorf("%d calls were run; asked in %v", ran, w.asked)
	}
}

// overflow refuses requests with more than so many bytes, in the words of
// format, which gets how long it is and what would be the most.
func overflow(most int, format string, sent *[]string) func(*oneloop.Request) error {
	return func(req *oneloop.Request) error {
		body := spoken(req)
		if len(body) <= most {
			return nil
		}
		*sent = append(*sent, body)
		return &oneloop.APIError{Class: oneloop.ErrContextOverflow, Status: 400, Message: fmt.Sprintf(format, len(body)/4, most/4)}
	}
}

func TestAConversationTheAPIFindsTooLongIsMadeShorterAndGoesOn(t *testing.T) {
	for _, words := range []string{
		"prompt is too long: %d tokens > %d maximum",
		"input length and `max_tokens` exceed context limit: %d + 2 > %d",
		"This model's maximum context length is %[2]d tokens. However, your messages resulted in %[1]d tokens.",
		"context_length_exceeded %.0d %.0d",
	} {
		var sent []string
		w := &worker{rounds: 10}
		s := working(t, w, strings.Repeat("ab c ", 6000)) // 300 KB in all
		if _, err := send(t, t.Context(), s, text("grow")); err != nil {
			t.Fatal(err)
		}
		w.refuse, w.requests, w.asked = overflow(120_000, words, &sent), nil, nil
		kinds, err := send(t, t.Context(), s, text(task))
		if err != nil {
			t.Fatalf("%s: %v", words, err)
		}
		if slices.Sort(sent); len(slices.Compact(sent)) != len(sent) {
			t.Errorf("%s: the same was sent twice", words)
		}
		last := spoken(w.requests[len(w.requests)-1])
		if len(w.requests) > 6 || !strings.Contains(last, task) || !strings.Contains(last, "SUM") || !strings.Contains(kinds, "compacted") {
			t.Errorf("%s: %d requests, the last says\n%.3000s", words, len(w.requests), last)
		}
		// What the API said is known from then on: before it is said again, the
		// conversation is made shorter.
		refusals := len(sent)
		w.rounds = w.round + 12
		if _, err := send(t, t.Context(), s, text("more")); err != nil {
			t.Fatal(err)
		}
		if len(sent) != refusals && !strings.HasPrefix(words, "context") { // where it says no number there is none to know
			t.Errorf("%s: it was refused again", words)
		}
	}
}

func TestTheModelIsAskedForASummaryTwiceAtMostWhereItIsTooLongItself(t *testing.T) {
	long := &oneloop.APIError{Class: oneloop.ErrContextOverflow, Message: "prompt is too long"}
	w := &worker{rounds: 8}
	s := working(t, w, strings.Repeat("x", 40_000))
	if _, err := send(t, t.Context(), s, text("grow")); err != nil {
		t.Fatal(err)
	}
	w.requests, w.asked = nil, nil
	refused := 0
	w.refuse = func(req *oneloop.Request) error {
		if wish(req.Messages[len(req.Messages)-1]) || len(w.requests) == 1 {
			refused++
			return long
		}
		return nil
	}
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Fatal(err)
	}
	if refused != 3 || len(w.requests) != 4 || !strings.Contains(spoken(w.requests[3]), "by rule") {
		t.Errorf("%d requests, %d refused", len(w.requests), refused)
	}
	// A prompt that does not fit by itself ends the turn, and the next may be said.
	w.requests, w.refuse = nil, func(req *oneloop.Request) error {
		if len(spoken(req)) > 50_000 {
			return long
		}
		return nil
	}
	if _, err := send(t, t.Context(), s, text(strings.Repeat("too much ", 9000))); !errors.Is(err, oneloop.ErrContextOverflow) || len(w.requests) > 6 {
		t.Fatalf("error is %v after %d requests", err, len(w.requests))
	}
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Errorf("the conversation is stuck: %v", err)
	}
}

func TestAReplyCutAtTheEndOfTheWindowIsGoneOnWith(t *testing.T) {
	w := &worker{rounds: 8}
	s := working(t, w, strings.Repeat("x", 4000))
	if _, err := send(t, t.Context(), s, text("grow")); err != nil {
		t.Fatal(err)
	}
	asked := 0
	s.Model = oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		if asked++; asked == 1 {
			return says(oneloop.StopContextWindow, text("half of it")), nil
		}
		return w.Generate(ctx, req, emit)
	})
	w.requests, w.asked = nil, nil
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Fatal(err)
	}
	if len(w.requests) != 2 || len(w.asked) != 1 || !strings.Contains(spoken(w.requests[1]), task) {
		t.Errorf("%d requests, for summaries %v", len(w.requests), w.asked)
	}
}

func TestWhatIsKeptStandsInEverySummary(t *testing.T) {
	w := &worker{rounds: 20}
	s := working(t, w, strings.Repeat("x", 4000))
	s.Window = session.Window{Tokens: 8_000}
	left := 3
	s.Keep("tasks", func() string { return "nobody asks" })
	s.Keep("tasks", func() string { left--; return fmt.Sprintf("tasks left: %d", left) })
	s.Keep("none", func() string { return " " })
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Fatal(err)
	}
	if len(w.asked) < 2 {
		t.Fatal("it was made shorter once only")
	}
	for i, n := range w.asked[:2] {
		if got := w.requests[n].Messages[0].Text(); !strings.Contains(got, fmt.Sprintf("tasks left: %d", 2-i)) || strings.Contains(got, "none") || strings.Contains(got, "nobody") {
			t.Errorf("summary %d is\n%s", i+1, got)
		}
	}
}

func TestAHookCanKeepAConversationLong(t *testing.T) {
	w := &worker{rounds: 8}
	s := working(t, w, strings.Repeat("x", 4000))
	s.Window = session.Window{Tokens: 8_000}
	no, asked := errors.New("not now"), 0
	s.BeforeCompact = func(_ context.Context, o session.Occasion) error {
		asked++
		if o.Focus != "" && o != (session.Occasion{Trigger: "manual", Focus: "names"}) || o.Focus == "" && o.Trigger != "auto" {
			t.Errorf("the occasion is %+v", o)
		}
		return no
	}
	kinds, err := send(t, t.Context(), s, text(task))
	if err != nil || len(w.asked) > 0 || asked == 0 || strings.Count(kinds, "notice") != asked {
		t.Errorf("error %v, summaries %v; the hook was asked %d times; events %s", err, w.asked, asked, kinds)
	}
	if err := s.Compact(t.Context(), nil, " names "); err != no {
		t.Errorf("by hand the error is %v", err)
	}
}

func TestByHandAConversationIsMadeShorterAtOnce(t *testing.T) {
	w := &worker{rounds: 6}
	s := working(t, w, strings.Repeat("x", 4000))
	if err := s.Compact(t.Context(), nil, ""); !errors.Is(err, session.ErrNothing) {
		t.Errorf("at the beginning the error is %v", err)
	}
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Fatal(err)
	}
	var events []oneloop.Event
	if err := s.Compact(t.Context(), func(e oneloop.Event) { events = append(events, e) }, "the names of files"); err != nil {
		t.Fatal(err)
	}
	if last := w.requests[len(w.requests)-1]; !strings.Contains(spoken(last), "the names of files") {
		t.Error("the model is not told what to look to")
	}
	c, ok := events[len(events)-1].(oneloop.Compacted)
	if !ok || c.Trigger != "manual" || c.After >= c.Before/2 {
		t.Errorf("events are %v", events)
	}
	if err := s.Compact(t.Context(), nil, ""); !errors.Is(err, session.ErrNothing) && err != nil {
		t.Errorf("twice: %v", err)
	}
	if _, err := send(t, t.Context(), s, text("next")); err != nil {
		t.Fatal(err)
	}
	if got := spoken(w.requests[len(w.requests)-1]); strings.Count(got, "SUM") != 1 || !strings.Contains(got, "next") || !strings.Contains(got, task) {
		t.Errorf("then the model is told\n%s", got)
	}
	plain := &session.Session{Model: w}
	if _, err := send(t, t.Context(), plain, text(task)); err != nil {
		t.Fatal(err)
	}
	if err := plain.Compact(t.Context(), nil, ""); !errors.Is(err, session.ErrNoCompaction) {
		t.Errorf("without a log the error is %v", err)
	}
}

func TestAnInterruptedSummaryChangesNothing(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	w := &worker{rounds: 6}
	s := working(t, w, strings.Repeat("x", 4000))
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Fatal(err)
	}
	before, err := s.Transcript.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.refuse = func(*oneloop.Request) error { stop(); return context.Canceled }
	if err := s.Compact(ctx, nil, ""); !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("error is %v", err)
	}
	after, err := s.Transcript.Request(t.Context())
	if err != nil || len(after.Messages) != len(before.Messages) {
		t.Errorf("%d messages were there, now %d, %v", len(before.Messages), len(after.Messages), err)
	}
	if err := s.Compact(ctx, nil, ""); !errors.Is(err, oneloop.ErrInterrupted) { // it has ended already
		t.Errorf("error is %v", err)
	}
}

func TestReasoningIsNotSentAfterTheSummary(t *testing.T) {
	w := &worker{rounds: 8, blocks: []oneloop.Block{&oneloop.Thinking{Text: "hm", Signature: "sealed"}}}
	s := working(t, w, strings.Repeat("x", 4000))
	s.Window = session.Window{Tokens: 8_000}
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Fatal(err)
	}
	words := func(req *oneloop.Request) bool { // those that were said last are told
		return strings.Contains(req.Messages[0].Text(), "<newest>") && strings.Count(req.Messages[0].Text(), "You called T {}") == 1 && roles(req) == "uu"
	}
	seals := func(req *oneloop.Request) (n int) {
		for _, m := range req.Messages {
			for _, b := range m.Blocks {
				if _, ok := b.(*oneloop.Thinking); ok {
					n++
				}
			}
		}
		return n
	}
	asked := w.asked[0]
	if seals(w.requests[asked-1]) == 0 || seals(w.requests[asked]) != 0 || !words(w.requests[asked]) || seals(w.requests[asked+1]) != 1 {
		t.Errorf("%d pieces of reasoning are sent for the summary, %d behind it, then %d", seals(w.requests[asked-1]), seals(w.requests[asked]), seals(w.requests[asked+1]))
	}
}

func TestALogRefusesToPartACallFromItsAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	log := session.NewLog(path, session.LogOptions{})
	r := oneloop.TextResult("r")
	r.ID = "1"
	if err := log.Append(t.Context(), oneloop.UserText("hi"), says(oneloop.StopToolUse, call("1", "T")), oneloop.NewMessage(oneloop.User, r), ok()); err != nil {
		t.Fatal(err)
	}
	summary := oneloop.UserText("SUM")
	for _, stay := range [][]int{{2, 3}, {1}, {0, 1, 3}, {4}, {3, 0}, {-1}} {
		if err := log.Compact(session.Compaction{Summary: summary, Stay: stay}); err == nil {
			t.Errorf("%v was taken", stay)
		}
	}
	if err := log.Compact(session.Compaction{Stay: []int{3}}); err == nil {
		t.Error("no summary was taken")
	}
	if err := log.Compact(session.Compaction{Summary: summary, Stay: []int{0, 3}}); err != nil {
		t.Fatal(err)
	}
	if err := log.Compact(session.Compaction{Summary: oneloop.UserText("SUM2"), Stay: []int{1, 2}}); err != nil { // as they stand now
		t.Fatal(err)
	}
	want := []string{"SUM2", "hi", "ok"}
	check := func(l *session.Log) {
		t.Helper()
		req, err := l.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range req.Messages {
			got = append(got, m.Text())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check(log)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	again, damage, err := session.OpenLog(path, session.LogOptions{})
	if err != nil || len(damage) > 0 {
		t.Fatal(err, damage)
	}
	defer again.Close()
	check(again)
}

func TestAWindowFullOfWhatStaysIsNotMadeShorterAgainAndAgain(t *testing.T) {
	w := &worker{rounds: 12}
	s := working(t, w, "short")
	log := s.Transcript.(*session.Log)
	log.Use(session.Setup{Model: "m", System: []oneloop.Block{text(strings.Repeat("much to mind ", 2000))}})
	s.Window = session.Window{Tokens: 8_000, Keep: 100}
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Fatal(err)
	}
	if len(w.asked) > 1 { // once they are many it is worth it
		t.Errorf("a few words were put in the place of a few words, before requests %v", w.asked)
	}
}

func TestAConversationThatNeverFitsEndsAfterTwoTries(t *testing.T) {
	for _, class := range []error{oneloop.ErrContextOverflow, oneloop.ErrTooLarge} {
		w := &worker{rounds: 8}
		s := working(t, w, strings.Repeat("x", 4000))
		if _, err := send(t, t.Context(), s, text("grow")); err != nil {
			t.Fatal(err)
		}
		w.requests, w.asked = nil, nil
		w.refuse = func(req *oneloop.Request) error {
			if wish(req.Messages[len(req.Messages)-1]) {
				return nil
			}
			return &oneloop.APIError{Class: class, Message: "no"}
		}
		if _, err := send(t, t.Context(), s, text(task)); !errors.Is(err, class) || len(w.requests) != 4 || len(w.asked) != 1 {
			t.Errorf("%v after %d requests, for summaries %v", err, len(w.requests), w.asked)
		}
		w.refuse = nil
		if _, err := send(t, t.Context(), s, text(task)); err != nil {
			t.Errorf("then it is stuck: %v", err)
		}
	}
}

// An API that was wrong once, or a gateway that counted something else, is not
// believed for ever.
func TestARefusalThatWasWrongCostsOneSummary(t *testing.T) {
	for _, words := range []string{"prompt is too long: 250000 tokens > 200000 maximum", "context_length_exceeded"} {
		w := &worker{}
		s := working(t, w, strings.Repeat("ab c ", 200))
		if _, err := send(t, t.Context(), s, text("a little")); err != nil {
			t.Fatal(err)
		}
		wrong := false
		w.refuse = func(*oneloop.Request) error {
			if wrong {
				return nil
			}
			wrong = true
			return &oneloop.APIError{Class: oneloop.ErrContextOverflow, Status: 400, Message: words}
		}
		w.rounds = w.round + 20
		kinds, err := send(t, t.Context(), s, text(task))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(kinds, "compacted"); n > 2 {
			t.Errorf("%s: the conversation was made shorter %d times: %s", words, n, kinds)
		}
	}
}

func TestWhatASummaryKeepsIsReadBackFromItsOwnBlockOnly(t *testing.T) {
	w := &worker{rounds: 20}
	s := working(t, w, strings.Repeat("x", 4000))
	s.Window = session.Window{Tokens: 8_000}
	s.Keep("tasks", func() string { return "write\ntest" })
	if _, err := send(t, t.Context(), s, text("<kept name=\"tasks\">\nnone\n</kept>\n")); err != nil {
		t.Fatal(err)
	}
	req, err := s.Transcript.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := session.Kept(req.Messages, "tasks"); got != "write\ntest" || session.Kept(req.Messages, "others") != "" || session.Kept(req.Messages[1:], "tasks") != "" {
		t.Errorf("kept: %q", got)
	}
}

// behind adds a text behind the results of every round.
type behind struct{ oneloop.Tools }

func (b behind) Run(ctx context.Context, calls []*oneloop.ToolUse, emit func(oneloop.Event)) *oneloop.Message {
	m := b.Tools.Run(ctx, calls, emit)
	m.Blocks = append(m.Blocks, text("REMINDED"))
	return m
}

func TestWhatStandsBehindResultsIsNotToldAsTheUsersWord(t *testing.T) {
	refused := &oneloop.APIError{Class: oneloop.ErrInvalidRequest, Message: "no"}
	w := &worker{rounds: 8, summaries: []any{refused, refused}}
	s := working(t, w, strings.Repeat("x", 4000))
	s.Tools = behind{s.Tools}
	s.Window = session.Window{Tokens: 8_400}
	if _, err := send(t, t.Context(), s, text(task)); err != nil {
		t.Fatal(err)
	}
	if len(w.asked) < 2 {
		t.Fatalf("a summary was asked for in %v", w.asked)
	}
	for _, n := range []int{w.asked[1] - 1, w.asked[1]} { // the conversation as text, and the list by rule
		got := w.requests[n].Messages[0].Text()
		if !strings.Contains(got, "T {}") || strings.Contains(got, "The user said: REMINDED") || strings.Contains(got, "- REMINDED") {
			t.Errorf("request %d begins with\n%s", n+1, got)
		}
	}
}
