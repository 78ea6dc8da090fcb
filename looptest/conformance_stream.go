package looptest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest/script"
)

// ample is a reply with everything in it.
func ample() script.Reply {
	return script.Say(script.Thinking("想 a", "c2ln"), script.TextPieces("你好", "🌍 b"),
		script.Tool("t1", "Bash", `{"command":"ls é"}`), script.Tool("t2", "Bash", ``))
}

// prefixes ends a stream after every part of its bytes, as if it were whole
// and by breaking the connection.
func prefixes(t *testing.T, b bench) {
	reply := ample()
	frames := b.frames(t, reply)
	stream := bytes.Join(frames, nil)
	last := b.completes(t, frames)
	begin := len(bytes.Join(frames[:last], nil)) // of the event that completes the reply
	end := begin + len(frames[last])
	whole := b.ask(t, reply)
	var cuts []int
	at := 0
	for _, f := range frames {
		cuts = append(cuts, at, at+1, at+len(f)/2, at+len(f)-1)
		at += len(f)
	}
	for n := 3; n < len(stream); n += max(41, len(stream)/80) {
		cuts = append(cuts, n)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)[1:] // nothing at all is another law's
	var replies []script.Reply
	for i, n := range cuts {
		r := ample()
		r.Cut = &script.Cut{Bytes: n, Clean: i%2 == 0}
		replies = append(replies, r)
	}
	_, m := b.serve(t, replies...)
	for _, n := range cuts {
		events, msg, err := generate(t.Context(), m, asking())
		switch {
		case n >= end:
			if err != nil || !reflect.DeepEqual(essence(msg), essence(whole)) {
				t.Errorf("after %d of %d bytes, all of the reply in them: %+v, %v", n, len(stream), msg, err)
			}
		case n <= begin || err != nil:
			if msg != nil || !errors.Is(err, oneloop.ErrStreamCut) {
				t.Fatalf("after %d of %d bytes (complete at %d): %+v, %v", n, len(stream), end, msg, err)
			}
			if list := shown(events); len(list) > 0 && list[len(list)-1].Kind() != oneloop.KindDiscard {
				t.Errorf("after %d bytes what was shown is not taken back", n)
			}
		case !reflect.DeepEqual(essence(msg), essence(whole)):
			t.Errorf("after %d bytes, within the event that completes the reply: %+v", n, msg)
		}
	}
}

// completes is the number of the event that completes a reply.
func (b bench) completes(t testing.TB, frames [][]byte) int {
	t.Helper()
	finish := []byte(b.speaks().Traits.Finish)
	at := slices.IndexFunc(frames, func(f []byte) bool { return bytes.Contains(f, finish) })
	if at < 1 {
		t.Fatalf("%s is not in the stream:\n%s", finish, bytes.Join(frames, nil))
	}
	return at
}

// essence is what a message says, without what differs from one exchange to
// the next, and without its usage, which may come after it.
func essence(m *oneloop.Message) []string {
	out := []string{string(m.Stop)}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case *oneloop.Text:
			out = append(out, "text "+b.Text)
		case *oneloop.Thinking:
			out = append(out, "thinking "+b.Text)
		case *oneloop.ToolUse:
			out = append(out, "call "+b.Name+string(b.Input)+b.Broken)
		case *oneloop.Opaque:
			out = append(out, b.Type+" "+string(b.RawJSON()))
		}
	}
	return out
}

// splits sends a stream in pieces of many sizes, and with everything between
// its events that may stand there.
func splits(t *testing.T, b bench) {
	traits := b.speaks().Traits
	type how struct {
		name string
		set  func(*script.Reply)
	}
	list := []how{
		{"1 byte", func(r *script.Reply) { r.Chunk = 1 }},
		{"2 bytes", func(r *script.Reply) { r.Chunk = 2 }},
		{"3 bytes", func(r *script.Reply) { r.Chunk = 3 }},
		{"7 bytes", func(r *script.Reply) { r.Chunk = 7 }},
		{"64 bytes", func(r *script.Reply) { r.Chunk = 64 }},
		{"gzip", func(r *script.Reply) { r.Gzip = true }},
		{"gzip in pieces", func(r *script.Reply) { r.Gzip, r.Chunk = true, 5 }},
		{"lines that end in CRLF", func(r *script.Reply) { r.CRLF = true }},
		{"no type said", func(r *script.Reply) { r.Header = http.Header{"Content-Type": {"application/octet-stream"}} }},
		{"blank lines first", func(r *script.Reply) { r.Extra = []script.Extra{{At: 0, Text: "\n\n"}} }},
	}
	if !traits.Lines {
		list = append(list,
			how{"comments and CRLF", func(r *script.Reply) { r.Comments, r.CRLF, r.Chunk = true, true, 1 }},
			how{"padding", func(r *script.Reply) { r.Padding = true }},
			how{"comments between", func(r *script.Reply) {
				r.Extra = []script.Extra{{At: 1, Text: ": keep-alive\n\n"}, {At: 3, Text: ":\n\n"}}
			}},
			how{"[DONE] at the end", func(r *script.Reply) { r.Extra = []script.Extra{{At: -1, Text: "data: [DONE]\n\n"}} }},
			how{"an unknown event", func(r *script.Reply) {
				r.Extra = []script.Extra{{At: 2, Text: "event: zebra\ndata: {\"type\":\"zebra\"}\n\n"}}
			}})
	}
	see := func(set func(*script.Reply)) ([]oneloop.Event, *oneloop.Message) {
		r := ample()
		set(&r)
		_, m := b.serve(t, r)
		events, msg, err := generate(t.Context(), m, asking())
		if err != nil {
			t.Fatal(err)
		}
		return shown(events), msg
	}
	events, msg := see(func(*script.Reply) {})
	for _, h := range list {
		gotEvents, got := see(h.set)
		if !reflect.DeepEqual(essence(got), essence(msg)) {
			t.Errorf("%s: %q, want %q", h.name, essence(got), essence(msg))
		}
		if !traits.NoIDs && !reflect.DeepEqual(gotEvents, events) {
			t.Errorf("%s: other events:\n%+v\nwant\n%+v", h.name, gotEvents, events)
		}
		if got.Usage != msg.Usage {
			t.Errorf("%s: usage %+v, want %+v", h.name, got.Usage, msg.Usage)
		}
	}
}

// transport is what limits on silence, traces and recordings live on.
func transport(t *testing.T, b bench) {
	reply := ample()
	s, m := b.serve(t, script.Reply{React: func(script.Request) script.Reply { return reply }})
	events, _, err := generate(t.Context(), m, asking())
	if err != nil {
		t.Fatal(err)
	}
	req := s.Requests()[0]
	frames, _ := b.speaks().Stream(reply, &req)
	path, _, _ := strings.Cut(req.Path, "?") // what follows may be a secret, and is masked
	received, sent, started := 0, 0, 0
	for _, e := range events {
		switch e := e.(type) {
		case oneloop.RequestSent:
			sent++
			if !bytes.Equal(e.Body.Bytes(), req.Body) || e.Method != http.MethodPost || !strings.Contains(e.URL, path) {
				t.Errorf("told of %s %s %s\nwas %s %s", e.Method, e.URL, e.Body.Bytes(), req.Path, req.Body)
			}
		case oneloop.ResponseStarted:
			started++
			if e.Status != http.StatusOK || sent != 1 {
				t.Errorf("status %d after %d requests", e.Status, sent)
			}
		case oneloop.Received:
			received += e.Bytes
		case oneloop.TextDelta:
			if received == 0 {
				t.Error("a delta comes before the bytes it is in")
			}
		}
	}
	if all := len(bytes.Join(frames, nil)); sent != 1 || started != 1 || received > all || received < all-len(frames[len(frames)-1]) {
		t.Errorf("%d requests, %d answers, %d of %d bytes", sent, started, received, all)
	}
}

func addresses(t *testing.T, b bench) {
	for _, shape := range []string{"", "/", "/gw/api", "/gw/api/"} {
		s := ServeOver(t, b.wire(), script.Say(script.Text("ok")))
		if _, _, err := generate(t.Context(), b.Open(t, s.URL()+shape), asking()); err != nil {
			t.Errorf("with %q: %v", shape, err)
			continue
		}
		if path := s.Requests()[0].Path; strings.Contains(path, "//") || !strings.HasPrefix(path, strings.TrimSuffix(shape, "/")+"/") {
			t.Errorf("with %q the request goes to %s", shape, path)
		}
	}
}

func longLine(t *testing.T, b bench) {
	long := strings.Repeat("0123456789abcdef", 20<<10) // 320 KiB
	msg := b.ask(t, script.Say(script.TextPieces(long), script.ToolPieces("t1", "Bash", `{"command":"`+long+`"}`)))
	uses := msg.ToolUses()
	if msg.Text() != long || len(uses) != 1 || len(uses[0].Input) != len(long)+len(`{"command":""}`) {
		t.Errorf("%d characters of text, %d calls", len(msg.Text()), len(uses))
	}
}

// onePiece is for servers that do not stream although they were asked to.
func onePiece(t *testing.T, b bench) {
	r := ample()
	r.OneShot = true
	whole, got := b.ask(t, ample()), b.ask(t, r)
	if !reflect.DeepEqual(essence(got), essence(whole)) {
		t.Errorf("got %q\nwant %q", essence(got), essence(whole))
	}
}

func interrupted(t *testing.T, b bench) {
	texts := []script.Block{script.Text("I will look"), script.Tool("t1", "Bash", `{"command":"id"}`), script.TextPieces("zzmark")}
	cases := [][]script.Block{texts}
	if !b.speaks().Traits.NoPieces {
		cases = append(cases, []script.Block{script.Text("I will look"), script.Open(script.ToolPieces("t1", "Bash", `{"command":"zzmark`))})
	}
	for _, blocks := range cases {
		interruptedIn(t, b, blocks)
	}
}

// interruptedIn cancels a reply of blocks as soon as its last piece has come.
func interruptedIn(t *testing.T, b bench, blocks []script.Block) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reply := script.Say(blocks...)
	reply.Stop = "end_turn"
	_, m := b.serve(t, script.Reply{React: func(req script.Request) script.Reply {
		frames, _ := b.speaks().Stream(reply, &req)
		at := slices.IndexFunc(frames, func(f []byte) bool { return bytes.Contains(f, []byte("zzmark")) })
		reply.Pauses = []script.Pause{{After: at + 1, For: script.Forever}}
		return reply
	}})
	timer := time.AfterFunc(30*time.Second, func() { cancel(errors.New("the deltas never came")) })
	defer timer.Stop()
	msg, err := m.Generate(ctx, asking(), func(e oneloop.Event) {
		switch e := e.(type) {
		case oneloop.InputDelta:
			if strings.Contains(e.JSON, "zzmark") {
				cancel(oneloop.ErrInterrupted)
			}
		case oneloop.TextDelta:
			if strings.Contains(e.Text, "zzmark") {
				cancel(oneloop.ErrInterrupted)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if context.Cause(ctx) != oneloop.ErrInterrupted {
		t.Fatal(context.Cause(ctx))
	}
	if msg.Stop != oneloop.StopInterrupted || !strings.HasPrefix(msg.Text(), "I will look") || len(msg.ToolUses()) != 0 {
		t.Errorf("stop %q, text %q, %d calls", msg.Stop, msg.Text(), len(msg.ToolUses()))
	}
}

func notBegun(t *testing.T, b bench) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s, m := b.serve(t, script.Reply{Wait: script.Forever})
	waited := make(chan error, 1)
	go func() { // ends when the request has come, at the latest with the test
		waited <- s.Wait(t.Context(), 1)
		cancel(oneloop.ErrInterrupted)
	}()
	msg, err := m.Generate(ctx, asking(), func(oneloop.Event) {})
	if werr := <-waited; werr != nil {
		t.Fatal(werr)
	}
	if msg != nil && msg.Stop == oneloop.StopInterrupted && len(msg.Blocks) == 0 {
		return
	}
	if msg != nil || !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("got %+v, %v; want the cause", msg, err)
	}
}
