package session

import (
	"bytes"
	"context"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"sync"
	"unicode/utf8"

	"oneloop"
)

// Window says how much a model takes in at once, and when a conversation is
// made shorter for it. Numbers are tokens; the zero value is right where the
// window is not known: a conversation is then made shorter when the API says
// that it does not fit.
type Window struct {
	Tokens int // what the model takes, its reply included
	Output int // of them, left free for a reply; 0: what a reply may have, at most 20,000 and at most a quarter of Tokens
	Keep   int // of the newest rounds, what stays beside a summary; 0: 20,000, at most a quarter of what may be filled
}

const (
	usualOutput = 20_000
	usualKeep   = 20_000
)

// limit is how far the window may be filled by a request whose reply has at
// most so many tokens; 0: not known.
func (w Window) limit(reply int) int64 {
	if w.Tokens <= 0 {
		return 0
	}
	free := w.Output
	if free <= 0 {
		free = min(usualOutput, w.Tokens/4)
		if reply > 0 {
			free = min(free, reply)
		}
	}
	return int64(max(w.Tokens-free, 1))
}

// keep is how much of the newest rounds stays where limit may be filled.
func (w Window) keep(limit int64) int64 {
	if w.Keep > 0 {
		return int64(w.Keep)
	}
	if limit > 0 {
		return min(usualKeep, limit/4)
	}
	return usualKeep
}

// gauge tells how full the window is. It looks at each message once.
type gauge struct {
	mu    sync.Mutex
	n     int // messages that are counted
	first *oneloop.Message
	last  *oneloop.Message // of those
	full  int64            // what the window has in it behind the last
	told  bool             // the API has said so, but for what came since
}

// measure is how many tokens req has. Where the API has counted the newest
// reply and all before it, only what came since is estimated.
func (g *gauge) measure(req *oneloop.Request) (tokens int64, told bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	msgs := req.Messages
	if g.n == 0 || g.n > len(msgs) || msgs[0] != g.first || msgs[g.n-1] != g.last {
		g.n, g.full, g.told = 0, fixed(req), false
	}
	for i := len(msgs) - 1; i >= g.n; i-- {
		if counted(msgs[i]) {
			g.n, g.full, g.told = i+1, msgs[i].Usage.Window(), true
			break
		}
	}
	for _, m := range msgs[g.n:] {
		g.full += messageBound(m)
	}
	if g.n = len(msgs); g.n > 0 {
		g.first, g.last = msgs[0], msgs[g.n-1]
	}
	return g.full, g.told
}

func counted(m *oneloop.Message) bool {
	return m.Role == oneloop.Assistant && m.Usage.Reported && m.Usage.Window() > 0
}

// fixed is what is sent with every request beside the messages.
func fixed(req *oneloop.Request) int64 { return systemBound(req) + toolsBound(req) }

func systemBound(req *oneloop.Request) (n int64) {
	for _, b := range req.System {
		n += blockBound(b)
	}
	return n
}

func toolsBound(req *oneloop.Request) (n int64) {
	for _, d := range req.Tools {
		n += frame + textBound(d.Name) + textBound(d.Description) + textBound(d.Schema) + textBound(d.Raw)
	}
	return n
}

// whole is the size of a request by its text alone.
func whole(req *oneloop.Request) int64 {
	n := fixed(req)
	for _, m := range req.Messages {
		n += messageBound(m)
	}
	return n
}

func messageBound(m *oneloop.Message) (n int64) {
	for _, b := range m.Blocks {
		n += blockBound(b)
	}
	return n
}

// frame is what a block costs beside its text: its type, and the ids and names
// around it.
const frame = 8

func blockBound(b oneloop.Block) int64 {
	switch b := b.(type) {
	case *oneloop.Text:
		return frame + textBound(b.Text)
	case *oneloop.Thinking: // its signature is no text
		return frame + textBound(b.Text)
	case *oneloop.ToolUse:
		return 2*frame + textBound(b.Name) + textBound(b.Input)
	case *oneloop.ToolResult:
		n := int64(2 * frame)
		for _, c := range b.Content {
			n += blockBound(c)
		}
		return n
	case *oneloop.Media:
		return mediaBound(b)
	}
	return frame + textBound(b.RawJSON())
}

// textBound is about the most tokens that s has. Text in Latin letters and code
// have 3.5 bytes in a token, as the API's own documentation counts where it
// must be safe. A Chinese, Japanese or Korean character is about one token,
// those of other scripts one at the most, and those beyond 16 bits, as emoji,
// up to three.
func textBound[S ~string | ~[]byte](s S) int64 {
	var ascii, other, high int64
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			ascii++
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		i += n
		if r > 0xffff {
			high++
		} else {
			other++
		}
	}
	return (ascii*2+6)/7 + other + high*3
}

// Of images and documents, after the API's page on vision: an image costs one
// token for each 28x28 pixels, and is made smaller beyond 2,576 pixels at its
// longer edge or 4,784 tokens. A page of a document costs up to 3,000 tokens of
// text and an image; how many there are is not looked for: those with little
// on them have 30 KB at least.
const (
	patch      = 28
	longEdge   = 2576
	imageMost  = 4784
	pageTokens = 3000 + 1600
	pageBytes  = 30 << 10
)

func mediaBound(m *oneloop.Media) int64 {
	if m.Type != "image" {
		return frame + pageTokens*int64(1+len(m.Data)/pageBytes)
	}
	var c image.Config
	var err error
	switch r := bytes.NewReader(m.Data); m.MIME {
	case "image/png":
		c, err = png.DecodeConfig(r)
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(r)
	case "image/gif":
		c, err = gif.DecodeConfig(r)
	default:
		return frame + imageMost
	}
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return frame + imageMost
	}
	w, h := float64(c.Width), float64(c.Height)
	if long := max(w, h); long > longEdge {
		w, h = w*longEdge/long, h*longEdge/long
	}
	patches := (int64(w)/patch + 1) * (int64(h)/patch + 1)
	return frame + min(patches, imageMost)
}

// Fill says what is in the model's window.
type Fill struct {
	Window  int64 // tokens the model takes; 0: not known
	Limit   int64 // beyond this the conversation is made shorter; 0: not known
	Used    int64
	Counted bool // by the API, but for what came since its last reply
	Parts   []Part
}

// Part is a kind of what is in the window. Its size is an estimate: an API
// counts the whole only.
type Part struct {
	Name   string // "system", "tools", "summary", "prompts", "replies", "thinking", "calls", "results", "media" or "other"
	Tokens int64
}

// Fill is what the next request would have in the window. Parts are in the
// order of their names above; those without anything are left out.
func (s *Session) Fill(ctx context.Context) (Fill, error) {
	if s.Transcript == nil {
		return Fill{Window: int64(s.Window.Tokens), Limit: s.Window.limit(0)}, nil
	}
	req, err := s.Transcript.Request(ctx)
	if err != nil {
		return Fill{}, err
	}
	f := Fill{Window: int64(s.Window.Tokens), Limit: s.limit(req)}
	f.Used, f.Counted = s.fitting.gauge.measure(req)
	sizes := map[string]int64{"system": systemBound(req), "tools": toolsBound(req)}
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			addSizes(sizes, m, b)
		}
	}
	var sum int64
	for _, n := range sizes {
		sum += n
	}
	for _, name := range []string{"system", "tools", "summary", "prompts", "replies", "thinking", "calls", "results", "media", "other"} {
		if n := sizes[name]; n > 0 {
			f.Parts = append(f.Parts, Part{name, n * f.Used / sum})
		}
	}
	return f, nil
}

// addSizes adds what a block has in it to the sizes of the parts.
func addSizes(sizes map[string]int64, m *oneloop.Message, b oneloop.Block) {
	name := "other"
	switch b := b.(type) {
	case *oneloop.Text:
		switch {
		case m.Meta.Source == fromSummary:
			name = "summary"
		case m.Role == oneloop.User && len(results(m)) == 0:
			name = "prompts"
		case m.Role == oneloop.User:
		default:
			name = "replies"
		}
	case *oneloop.Thinking:
		name = "thinking"
	case *oneloop.ToolUse:
		name = "calls"
	case *oneloop.Media:
		name = "media"
	case *oneloop.ToolResult:
		name = "results"
		for _, c := range b.Content {
			if media, ok := c.(*oneloop.Media); ok {
				sizes["media"] += mediaBound(media)
				sizes["results"] -= mediaBound(media)
			}
		}
	}
	sizes[name] += blockBound(b)
}
