package tui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"oneloop"
)

// Progress tells on standard error how one task goes: each command and the
// first 200 characters of what it printed, retries, notices, what was denied,
// and the cost at the end of the turn. Where nobody reads along (Quiet) only
// what went wrong is left. It may be used from several goroutines.
type Progress struct {
	mu     sync.Mutex
	render renderer
	quiet  bool
	talk   bool
	paper  *paper
	pulse  pulse
}

// ProgressOptions are the settings of a [Progress]. The zero value writes in
// English, without colours, everything.
type ProgressOptions struct {
	Words *Text // nil: English
	Color bool
	Quiet bool // only retries, notices, denied calls, limits
	Talk  bool // also what the model says
}

// progressChars is how much of a command's output is shown, in characters.
const progressChars = 200

// NewProgress returns a Progress that writes to w.
func NewProgress(w io.Writer, o ProgressOptions) *Progress {
	words := o.Words
	if words == nil {
		words = &english
	}
	p := &paper{out: w, color: o.Color}
	return &Progress{render: renderer{on: p, words: words}, quiet: o.Quiet, talk: o.Talk, paper: p}
}

// Show writes e.
func (p *Progress) Show(e oneloop.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pulse.hear(e)
	p.render.kids.hear(e)
	defer p.again()
	defer p.seen()
	agent, inner := "", e
	prefix := ""
	if c, ok := e.(oneloop.Child); ok {
		agent, inner = path(c)
		prefix = "[" + agent + "] "
	}
	switch inner := inner.(type) {
	case oneloop.ToolStart:
		if !p.quiet {
			p.render.command(prefix, inner.Call)
		}
	case oneloop.ToolEnd:
		if !p.quiet {
			p.output(prefix, inner)
		}
	case oneloop.TextDelta, oneloop.ThinkingDelta, oneloop.MessageAdded, oneloop.Discard:
		added, is := inner.(oneloop.MessageAdded)
		switch {
		case p.talk:
			p.render.event(e)
		case is && !p.quiet:
			p.render.searches(prefix, added.Message)
		}
	case oneloop.Spend:
		p.render.spend(inner)
	case oneloop.TurnEnd:
		if !p.quiet && agent == "" {
			p.render.cost()
		}
	case oneloop.ChildStart, oneloop.ChildEnd, oneloop.Boundary:
		if !p.quiet {
			p.render.event(e)
		}
	case oneloop.Retry, oneloop.Notice, oneloop.Denied, oneloop.Limited, oneloop.Compacted:
		p.render.event(e)
	}
}

// Say writes text on lines of its own, also when Quiet.
func (p *Progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.render.note(normal, text)
	p.seen()
}

// Write writes lines some other part of the program prints, as they are.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paper.wipe()
	p.pulse.shown = time.Now()
	return p.paper.out.Write(b)
}

// seen notes when something was written.
func (p *Progress) seen() {
	if p.paper.wrote {
		p.pulse.shown, p.paper.wrote = time.Now(), false
	}
}

// again shows the lines of children again, where something was written over
// them.
func (p *Progress) again() {
	if p.paper.width != nil && p.paper.standing == "" && len(p.render.kids.list) > 0 {
		p.paper.stand(p.waits())
	}
}

// waits is what stands below all else: a line for each child that runs, or for
// how long a turn waits already.
func (p *Progress) waits() string {
	if lines := p.render.kids.lines(p.render.words, time.Now()); len(lines) > 0 {
		return strings.Join(lines, "\n")
	}
	return p.pulse.text(p.render.words)
}

// Live shows at f, which is what p writes to, how long a turn waits already
// whenever that has been for a while, until stop is called. It does nothing
// where f is no terminal that can take a line back, or belongs to another
// program meanwhile.
func (p *Progress) Live(f *os.File, env func(string) string) (stop func()) {
	if !mobile(f, env) {
		return func() {}
	}
	undo, err := prepareOutput(f)
	if err != nil {
		return func() {}
	}
	still := p.live(reflowOf(env), func() int {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && foreground(f) {
			return w
		}
		return 0
	})
	return sync.OnceFunc(func() {
		still()
		undo() // a console that stays as it is now harms nobody
	})
}

// live is Live with the cells of a row, 0 where nothing may be drawn.
func (p *Progress) live(how reflow, width func() int) (stop func()) {
	quit := make(chan struct{})
	var running sync.WaitGroup
	p.paper.how, p.paper.width = how, width
	running.Go(func() {
		timer := time.NewTimer(silence)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
				timer.Reset(p.beat())
			case <-quit:
				return
			}
		}
	})
	return func() {
		close(quit)
		running.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.paper.wipe()
	}
}

// beat shows the time as it is now and says how long that is right.
func (p *Progress) beat() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paper.stand(p.waits())
	return p.pulse.next()
}

// Err is the first error of writing.
func (p *Progress) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paper.err
}

func (p *Progress) output(prefix string, e oneloop.ToolEnd) {
	if p.render.known(e) {
		return
	}
	st := dim
	if e.Result.IsError {
		st = red
	}
	text := p.render.unsaid(e.Call, strings.TrimRight(e.Result.Text(), "\n"))
	shown := first(text, progressChars)
	p.paper.fresh()
	p.paper.put(st, plainSight, prefix+strings.ReplaceAll(shown, "\n", "\n"+prefix))
	p.paper.fresh()
	if n := utf8.RuneCountInString(text[len(shown):]); n > 0 {
		p.paper.put(dim, plainSight, prefix+p.render.words.MoreChars.of(n))
		p.paper.fresh()
	}
}

// first is the first n characters of s.
func first(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// paper is a sheet without a cursor: a file, a pipe, a terminal that is only
// written to.
type paper struct {
	out   io.Writer
	color bool
	mid   bool // in the middle of a line
	wrote bool
	err   error

	standing string     // what will be taken back
	how      reflow     // how the terminal moves it
	width    func() int // cells of the terminal's rows; 0: it is not ours now
}

// stand writes text where it is taken back before anything else is written;
// no text takes back only.
func (p *paper) stand(text string) {
	width := p.width()
	if width < 2 {
		text = ""
	}
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		rows[i] = head(row, max(width-1, 0))
	}
	if text = strings.Join(rows, "\n"); text == p.standing {
		return
	}
	p.wipe()
	if text == "" || p.mid {
		return
	}
	p.standing = text
	if p.color {
		text = sgr[dim] + text + sgrOff
	}
	p.write(text)
}

// wipe takes back what stands there.
func (p *paper) wipe() {
	if p.standing == "" {
		return
	}
	rows := strings.Split(p.standing, "\n")
	was := view{rows: rows, r: len(rows) - 1, c: cellsOf(rows[len(rows)-1])}
	p.standing = ""
	width := p.width()
	if width == 0 { // others have written there since
		return
	}
	if above := was.above(width, p.how); above > 0 {
		p.write(fmt.Sprintf("\x1b[%dA", above))
	}
	p.write("\r\x1b[J")
}

func (p *paper) fresh() {
	if p.mid {
		p.raw("\n")
		p.mid = false
	}
}

func (p *paper) put(st style, how sight, text string) {
	var b strings.Builder
	for text != "" {
		var g string
		var w int
		g, text, w = cluster(text)
		switch g {
		case "\r\n":
			g = "\n"
		case "\n", "\t":
		default:
			g, _ = shape(g, w, how)
		}
		b.WriteString(g)
	}
	s := b.String()
	if s == "" {
		return
	}
	p.mid = !strings.HasSuffix(s, "\n")
	if p.color && st != normal {
		s = sgr[st] + s + sgrOff
	}
	p.raw(s)
}

func (p *paper) raw(s string) {
	p.wipe()
	p.wrote = true
	p.write(s)
}

func (p *paper) write(s string) {
	if _, err := io.WriteString(p.out, s); err != nil && p.err == nil {
		p.err = err
	}
}
