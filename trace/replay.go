package trace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"oneloop"
	"oneloop/session"
)

// ReplayOptions are those of [Replay]. The zero value is right for a session
// of the program.
type ReplayOptions struct {
	// Emit hears the events of the replay; nil: nobody does. It is called by
	// one goroutine.
	Emit func(oneloop.Event)
	// Tools are run beside what the log says, if there are any: with each round
	// of calls, and what they answer is compared with the answers of the log. The
	// conversation goes on with those of the log. Their events are not heard.
	// Calls that were denied are not run, and neither are those in which the turn
	// was ended.
	Tools oneloop.Tools
	// Same says whether two answers to a call are to count as the same; nil:
	// when they are, to the byte. One that is nil was not given.
	Same func(call *oneloop.ToolUse, was, is *oneloop.ToolResult) bool
	// Adapter makes the model that reads what was recorded, if a [Recorder] did:
	// it is to send its requests by this transport, which answers from the
	// recording. Nil: a recording is not looked at.
	Adapter func(model string, by http.RoundTripper) (oneloop.Model, error)
	// Repeats are those of the session that made the log. Its Ask is not used.
	Repeats session.Repeats
}

// Replayed is what came of a [Replay].
type Replayed struct {
	Head  session.Head
	Model string // that was asked last

	Turns, Replies, Calls int // that were taken again
	Events                int // that were compared
	Recorded              int // requests whose pieces were compared

	LeftOut []string      // parts of the log that were not replayed, and why
	Differs *Difference   // the first; nil: there is none
	Answers []OtherAnswer // of Tools
}

// Difference is where a replay came to something else than the log has.
type Difference struct {
	Turn  int   // from 1, as turns follow one another in the log
	Entry int64 // of the log, to which the replay came to something else; 0: the log has nothing there
	Want  string
	Got   string
}

func (d *Difference) Error() string {
	at := fmt.Sprintf("turn %d, entry %d", d.Turn, d.Entry)
	if d.Entry == 0 {
		at = fmt.Sprintf("turn %d, at its end", d.Turn)
	}
	return fmt.Sprintf("%s: expected %s, came %s", at, d.Want, d.Got)
}

// OtherAnswer is an answer that is another one than the log has.
type OtherAnswer struct {
	Turn    int
	Call    *oneloop.ToolUse
	Was, Is *oneloop.ToolResult
}

// Replay takes the turns of the session whose log is at path again: through the
// real loop and the session that drives it, with a model and tools that answer
// from the log. It goes over no network and runs nothing but
// ReplayOptions.Tools. What came from outside is fed back in its place:
// replies, answers of tools and of people, what was typed meanwhile, what hooks
// added, failures, summaries. What the loop makes of it is compared with the
// log: which messages come in which order, how each call is answered, how each
// turn ends.
//
// What is not compared: times, counts of requests, pieces of streams that were
// not recorded, and what the log does not keep.
//
// The error is that of reading the log, or the cause of ctx. A difference is
// none.
func Replay(ctx context.Context, path string, o ReplayOptions) (*Replayed, error) {
	p := &player{path: path, o: o, out: &Replayed{}, denied: map[string]bool{}}
	head, damage, err := session.Read(path, func(e session.Entry) error {
		p.entries = append(p.entries, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.out.Head = head
	for _, d := range damage {
		p.out.LeftOut = append(p.out.LeftOut, d.String())
	}
	if err := p.load(path); err != nil {
		return nil, err
	}
	for p.pos < len(p.entries) && p.out.Differs == nil {
		if err := context.Cause(ctx); err != nil {
			return p.out, err
		}
		if p.entries[p.pos].Kind == string(oneloop.KindTurnStart) {
			p.take(ctx)
			continue
		}
		p.between()
	}
	p.unrecorded()
	p.out.Model = p.fold.Setup().Model
	return p.out, context.Cause(ctx)
}

// load reads the recording, if there is one and somebody to read it.
func (p *player) load(path string) error {
	if p.o.Adapter == nil {
		return nil
	}
	list, err := readRecording(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	p.tape = &playback{list: list}
	return nil
}

// player plays a log. It is the session's transcript: what the loop adds to it
// must be what the log has next. And it is the model and the tools, which say
// what the log has next.
type player struct {
	path    string
	o       ReplayOptions
	out     *Replayed
	entries []session.Entry
	pos     int // the next entry
	fold    session.Fold

	// Of the turn that is taken.
	turn  int
	end   int  // the entry behind it
	ended bool // the log has its end
	broke bool // the log breaks off in it, and the replay has come there
	stop  context.CancelCauseFunc
	inbox *session.Inbox

	telling bool // what the session tells is from the log
	tape    *playback
	paused  bool            // the reply before was
	denied  map[string]bool // calls that were not run
}

var (
	errBroke   = errors.New("the log breaks off here")
	errDiffers = errors.New("the replay came to something else than the log")
)

// failure is how a request failed, or a turn ended, in the words that the log
// has for it.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

// take takes the turn again that begins here.
func (p *player) take(ctx context.Context) {
	from := p.pos
	p.end, p.ended = p.extent()
	p.turn++
	messages := 0
	for _, e := range p.entries[from:p.end] {
		if e.Message != nil {
			messages++
		}
	}
	if messages == 0 && !p.ended { // nothing came of it, as where a fork begins
		p.turn--
		p.skip()
		return
	}
	if a, b := p.hole(from); b > 0 {
		p.out.LeftOut = append(p.out.LeftOut, fmt.Sprintf("turn %d (entries %d to %d) was not replayed: the entries %d to %d are lost",
			p.turn, p.entries[from].N, p.entries[p.end-1].N, a, b))
		p.skip()
		return
	}
	p.accept()
	prompt := p.prompt()
	if prompt == nil {
		p.out.LeftOut = append(p.out.LeftOut, fmt.Sprintf("turn %d (entry %d) was not replayed: what was said is not in the log", p.turn, p.entries[from].N))
		p.skip()
		return
	}
	p.out.Turns++
	p.broke = false
	p.inbox = new(session.Inbox)
	ctx, p.stop = context.WithCancelCause(ctx)
	defer p.stop(nil)
	s := &session.Session{Model: p, Tools: p, Transcript: p, Inbox: p.inbox, Repeats: p.o.Repeats, AtStop: p.atStop}
	if s.Repeats.Ask = nil; p.asked() {
		s.Repeats.Ask = p.answer
	}
	p.steer()
	err := s.Turn(ctx, oneloop.Sink(p.o.Emit), prompt.Blocks...)
	switch {
	case p.out.Differs != nil, p.broke:
	case !p.ended:
		p.broke = true
	case p.pos < p.end:
		p.differ(p.upcoming(), fmt.Sprintf("the end of the turn (%v)", err))
	}
	if p.broke {
		why := "the program was ended there"
		if p.end == len(p.entries) && session.InUse(p.path) {
			why = "another oneloop is still at it"
		}
		p.out.LeftOut = append(p.out.LeftOut, fmt.Sprintf("turn %d breaks off at entry %d: %s", p.turn, p.entries[p.end-1].N, why))
		p.skip()
	}
}

// between passes what stands between two turns.
func (p *player) between() {
	var lost []int64
	for p.pos < len(p.entries) && p.entries[p.pos].Kind != string(oneloop.KindTurnStart) {
		if e := p.entries[p.pos]; e.Message != nil && !beside(e.Message) {
			lost = append(lost, e.N)
		}
		p.pass()
	}
	if len(lost) > 0 {
		p.out.LeftOut = append(p.out.LeftOut, fmt.Sprintf("the messages of entries %d to %d were not replayed: the beginning of their turn is not in the log", lost[0], lost[len(lost)-1]))
	}
}

// extent is where the turn ends that begins here, and whether the log says so.
func (p *player) extent() (end int, ended bool) {
	for i := p.pos + 1; i < len(p.entries); i++ {
		switch e := p.entries[i]; {
		case e.Kind == string(oneloop.KindTurnEnd):
			return i + 1, true
		case e.Kind == string(oneloop.KindTurnStart), e.Kind == "rewind", e.Message != nil && beside(e.Message):
			return i, false
		}
	}
	return len(p.entries), false
}

// hole is which entries are missing in the turn that begins with the entry
// from; zeros: none are.
func (p *player) hole(from int) (a, b int64) {
	last := p.end - 1
	if !p.ended && p.end < len(p.entries) {
		last = p.end // the turn's end may be what is missing
	}
	for i := from; i < last; i++ {
		if n, next := p.entries[i].N, p.entries[i+1].N; next > n+1 {
			return n + 1, next - 1
		}
	}
	return 0, 0
}

// prompt is what the turn began with: the message that comes next, or the one
// the conversation ends with, when it was said once more after a failure.
func (p *player) prompt() *oneloop.Message {
	if e := p.upcoming(); e != nil && e.Message != nil && speaks(e.Message) && e.Message.Meta.Source == "" {
		return e.Message
	}
	msgs := p.fold.Request().Messages
	for _, m := range slices.Backward(msgs) {
		if m.Meta.Source == "inbox" || m.Meta.Source == "aside" {
			continue
		}
		if speaks(m) {
			return m
		}
		break
	}
	return nil
}

// beside reports whether m is of no turn: what answers calls that were cut off
// with the program, and what the user did meanwhile.
func beside(m *oneloop.Message) bool { return m.Meta.Source == "mend" || m.Meta.Source == "aside" }

// speaks reports whether m is somebody's word, and no answer to calls.
func speaks(m *oneloop.Message) bool {
	if m.Role != oneloop.User {
		return false
	}
	return !slices.ContainsFunc(m.Blocks, func(b oneloop.Block) bool { _, is := b.(*oneloop.ToolResult); return is })
}

// upcoming is the next message of the turn, or its end; nil: the log has
// neither.
func (p *player) upcoming() *session.Entry {
	for i := p.pos; i < p.end; i++ {
		if e := &p.entries[i]; e.Message != nil || e.Kind == string(oneloop.KindTurnEnd) {
			return e
		}
	}
	return nil
}

// skip goes to the end of the turn.
func (p *player) skip() {
	for p.pos < p.end {
		p.pass()
	}
}

// pass takes the next entry as it is, and tells it if it is an event.
func (p *player) pass() {
	e := p.entries[p.pos]
	p.accept()
	if event := eventOf(e); event != nil && p.o.Emit != nil {
		p.o.Emit(event)
	}
}

// accept takes the next entry.
func (p *player) accept() {
	e := p.entries[p.pos]
	p.pos++
	if e.Kind == string(oneloop.KindDenied) {
		p.denied[callOf(e)] = true
	}
	if e.Kind == "compact" || e.Kind == string(oneloop.KindTurnStart) {
		p.tape.before(e.N) // what was asked for a summary
	}
	if err := p.fold.Take(e); err != nil {
		p.out.LeftOut = append(p.out.LeftOut, fmt.Sprintf("entry %d (%s) cannot be used: %v", e.N, e.Kind, err))
	}
}

// over reports whether nothing is compared any more.
func (p *player) over() bool { return p.broke || p.out.Differs != nil }

// differ notes a difference and ends the turn. e is what the log has; nil:
// nothing.
func (p *player) differ(e *session.Entry, got string) {
	if p.over() {
		return
	}
	if e == nil && !p.ended {
		p.broke = true
		p.stop(errBroke)
		return
	}
	want := "nothing more"
	if e != nil {
		want = describe(*e)
	}
	p.differAt(e, want, got)
}

func (p *player) differAt(e *session.Entry, want, got string) {
	if p.over() {
		return
	}
	d := &Difference{Turn: p.turn}
	if e != nil {
		d.Entry = e.N
	}
	d.Want, d.Got = apart(want, got)
	p.out.Differs = d
	p.stop(errDiffers)
}

// wrong is why the loop is not to go on, nil when it is.
func (p *player) wrong() error {
	switch {
	case p.out.Differs != nil:
		return errDiffers
	case p.broke:
		return errBroke
	}
	return nil
}

// Request is what the model is asked, once what has changed it is taken.
func (p *player) Request(ctx context.Context) (*oneloop.Request, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	to := p.pos
	for i := p.pos; i < p.end; i++ {
		e := p.entries[i]
		if e.Message != nil || e.Kind == string(oneloop.KindTurnEnd) {
			break
		}
		if e.Kind == string(oneloop.KindDenied) {
			p.denied[callOf(e)] = true
		}
		if e.Kind == "compact" || e.Kind == "redact" || e.Kind == "setup" {
			to = i + 1
		}
	}
	for p.pos < to {
		p.pass()
	}
	return p.fold.Request(), nil
}

// Append takes what the loop adds, which the log must have next.
func (p *player) Append(_ context.Context, msgs ...*oneloop.Message) error {
	for _, m := range msgs {
		if err := p.wrong(); err != nil {
			return err
		}
		e := p.upcoming()
		if e == nil || e.Message == nil || !sameMessage(e.Message, m) {
			p.differ(e, describeMessage(m))
			return p.wrong()
		}
		for p.entries[p.pos].Message == nil {
			p.pass()
		}
		p.accept()
		p.out.Events++
		if m.Role == oneloop.Assistant {
			p.out.Replies++
		}
		p.steer()
	}
	return nil
}

// steer puts into the inbox what the log says was taken from there next.
func (p *player) steer() {
	if e := p.upcoming(); e != nil && e.Message != nil && e.Message.Meta.Source == "inbox" {
		p.inbox.Put(session.BeforeModel, e.Message.Blocks...)
	}
}

// GoesOn says what became of a reply that was cut at the end of the window.
func (p *player) GoesOn() bool {
	e := p.upcoming()
	return e != nil && e.Message != nil && e.Message.Meta.Source == "driver"
}

// Event takes what the loop tells, which the log must have too. What comes in
// the log before it was told by others.
func (p *player) Event(e oneloop.Event) {
	if p.telling || p.over() || !kept(e) {
		return
	}
	for p.pos < p.end {
		x := p.entries[p.pos]
		if x.Kind == string(e.Kind()) && sameEvent(x, e) {
			p.accept()
			p.out.Events++
			return
		}
		if x.Message != nil || x.Kind == string(oneloop.KindTurnEnd) {
			break
		}
		p.pass()
	}
	p.differ(p.upcoming(), describeEvent(e))
}

// Generate says what the model said, and tells what happened until then.
func (p *player) Generate(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	if err := p.stream(ctx, req, emit); err != nil {
		return nil, err
	}
	for p.pos < p.end {
		x := &p.entries[p.pos]
		if err := p.wrong(); err != nil {
			return nil, err
		}
		switch {
		case x.Message != nil && x.Message.Role == oneloop.Assistant:
			p.interrupt(x.Message)
			return x.Message, nil
		case x.Message != nil:
			p.differ(x, "a request to the model")
		case x.Kind == string(oneloop.KindTurnEnd):
			if text := endOf(*x).Error; text != "" {
				return nil, &failure{text}
			}
			p.differ(x, "a request to the model")
		default:
			p.tell(emit)
		}
	}
	p.differ(nil, "a request to the model")
	return nil, p.wrong()
}

// tell has the next entry told as the loop's.
func (p *player) tell(emit func(oneloop.Event)) {
	event := eventOf(p.entries[p.pos])
	p.accept()
	if event != nil {
		p.telling = true
		emit(event)
		p.telling = false
	}
}

// interrupt ends the turn as the log says it was ended while the model spoke.
func (p *player) interrupt(m *oneloop.Message) {
	if m.Stop != oneloop.StopInterrupted {
		return
	}
	cause := oneloop.ErrInterrupted
	for _, e := range p.entries[p.pos:p.end] {
		if e.Kind == string(oneloop.KindTurnEnd) {
			cause = &failure{endOf(e).Error}
		}
	}
	p.stop(cause)
}

// asked reports whether the user was asked in this turn whether it is to go on.
func (p *player) asked() bool {
	return slices.ContainsFunc(p.entries[p.pos:p.end], asksForLimit)
}

// answer is the user's, to that question.
func (p *player) answer(_ context.Context, _ oneloop.Question) (oneloop.Answer, error) {
	for i, e := range p.entries[p.pos:p.end] {
		a, is := eventOf(e).(oneloop.Answered)
		if !is {
			continue
		}
		next := p.pos + i + 1
		cause := p.stoppedAt(next)
		if cause != nil {
			p.stop(cause)
		}
		if limited := next < p.end && p.entries[next].Kind == string(oneloop.KindLimit); (limited || cause != nil) && !a.Answer.Allow && a.Answer.Reason != "" {
			return a.Answer, &failure{a.Answer.Reason} // there was no answer, and that is why
		}
		return a.Answer, nil
	}
	return oneloop.Answer{}, errBroke
}

// stoppedAt is why the turn was ended at the question whose answer stands before
// the entry at; nil: it was not. Of the results that follow then, nothing is said.
func (p *player) stoppedAt(at int) error {
	said := true
	for _, e := range p.entries[at:p.end] {
		switch {
		case repetition(e):
			return nil
		case e.Kind == string(oneloop.KindTurnEnd):
			if text := endOf(e).Error; text != "" && !said {
				return &failure{text}
			}
			return nil
		case e.Message != nil && (!said || speaks(e.Message)):
			return nil
		case e.Message != nil:
			said = remarked(e.Message)
		}
	}
	return nil
}

// atStop is what the log says kept the agent from ending its turn.
func (p *player) atStop(context.Context, *oneloop.Message) ([]oneloop.Block, error) {
	e := p.upcoming()
	switch {
	case e == nil:
		return nil, p.wrong()
	case e.Message != nil && e.Message.Meta.Source == "hook":
		return e.Message.Blocks, nil
	case e.Message != nil || endOf(*e).Error == "":
		return nil, nil
	}
	if slices.ContainsFunc(p.entries[p.pos:p.end], repetition) { // once too often
		return []oneloop.Block{&oneloop.Text{Text: "once more"}}, nil
	}
	return nil, &failure{endOf(*e).Error}
}
