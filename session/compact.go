package session

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"oneloop"
)

// Errors of [Session.Compact].
var (
	ErrNothing      = errors.New("there is nothing to make shorter")
	ErrNoCompaction = errors.New("this conversation cannot be made shorter: its Transcript has no method Compact, as that of a session.Log is")
)

// Occasion is why a conversation is made shorter.
type Occasion struct {
	Trigger string // "auto" or "manual"
	Focus   string // what the user wants to be kept, if they said so
}

// fromSummary is the source of a message that stands for what was left out.
const fromSummary = "summary"

// fitting is what a session knows of its window.
type fitting struct {
	gauge gauge
	most  atomic.Int64 // the API has refused more than that, in tokens as gauge counts; 0: it has not
	held  int64        // how full it was when BeforeCompact said no
	round int          // requests since the conversation was made shorter

	mu    sync.Mutex
	notes []note
}

type note struct {
	name string
	text func() string
}

// Keep has what text returns stand in a conversation that is made shorter,
// under name and behind the summary: what the model must not lose however long
// it works. text is called each time that happens; blank text is left out.
// Another text under the same name replaces the first.
func (s *Session) Keep(name string, text func() string) {
	f := &s.fitting
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = slices.DeleteFunc(slices.Clone(f.notes), func(n note) bool { return n.name == name })
	f.notes = append(f.notes, note{name, text})
}

// Compact makes the conversation shorter now: a summary the model is asked for
// takes the place of what came before, but for the user's last message, what
// [Session.Keep] was told of, and the newest rounds. focus, which may be
// empty, is what the summary should look to. The error is [ErrNothing] when
// all there is would stay, [ErrBusy] while a turn runs, that of BeforeCompact,
// or that of the model when it cannot be asked; the conversation is then as it
// was. A model that gives no usable summary is no error: what was asked and
// done is then listed by rule, and a [oneloop.Notice] says so.
func (s *Session) Compact(ctx context.Context, emit func(oneloop.Event), focus string) error {
	if s.Model == nil {
		return ErrNoModel
	}
	if !s.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer s.busy.Store(false)
	if s.Transcript == nil {
		return ErrNothing
	}
	req, err := s.Transcript.Request(ctx)
	if err != nil && ctx.Err() != nil {
		return ended(ctx)
	}
	if err != nil {
		return err
	}
	keep := min(s.Window.keep(s.limit(req)), (whole(req)-fixed(req))/4)
	emit = s.keeping(oneloop.Sink(emit))
	err = s.shorten(ctx, emit, req, shortening{Occasion: Occasion{"manual", strings.TrimSpace(focus)}, keep: keep})
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return ended(ctx)
	}
	if held, ok := errors.AsType[*heldError](err); ok {
		return held.err
	}
	return err
}

// limit is how far a request may fill the window; 0: not known.
func (s *Session) limit(req *oneloop.Request) int64 {
	limit, most := s.Window.limit(req.Params.MaxTokens), s.fitting.most.Load()
	if limit == 0 || most > 0 && most < limit {
		return most
	}
	return limit
}

// fit makes the conversation shorter when its next request would fill the
// window too far. It is looked at before each request, also between the calls
// of one turn, which then goes on.
func (t *turn) fit(ctx context.Context) (*oneloop.Request, error) {
	s := t.session
	req, err := s.Transcript.Request(ctx)
	if _, played := s.Transcript.(Playback); err != nil || played {
		return req, err
	}
	size, _ := s.fitting.gauge.measure(req)
	limit, full := s.limit(req), t.full
	t.full = false
	// A bound that is reached again at once is put to the test: the refusal it
	// was learned from may have been wrong, or another model's.
	s.fitting.round++
	if most := s.fitting.most.Load(); most > 0 && most == limit && size > limit && s.fitting.round == 1 {
		s.fitting.most.Store(0)
		limit = s.limit(req)
	}
	if !full && (limit == 0 || size <= limit || s.fitting.held > 0 && size < s.fitting.held+limit/20) {
		return req, nil
	}
	how := shortening{Occasion: Occasion{Trigger: "auto"}, keep: s.Window.keep(limit), least: limit / 8}
	if full {
		how.room, how.least = whole(req)*8/10, 0
	}
	err = s.shorten(ctx, t.watch, req, how)
	if held, ok := errors.AsType[*heldError](err); ok {
		s.fitting.held = size
		t.watch(oneloop.Notice{Text: fmt.Sprintf("The conversation was not made shorter: %v", held.err)})
		return req, nil
	}
	if errors.Is(err, ErrNothing) || errors.Is(err, ErrNoCompaction) {
		return req, nil // whether it fits is the API's to say
	}
	if err != nil {
		return nil, err
	}
	return s.Transcript.Request(ctx)
}

// answer is ask for a conversation the API may find too long. It is then made
// shorter, and shorter still, and that is all: the user is told otherwise.
func (t *turn) answer(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	m, err := t.ask(ctx, req, emit)
	for tries := 0; tries < 2 && t.outgrown(err); tries++ {
		if req, err = t.shrink(ctx, req, err, tries); err != nil {
			return nil, err
		}
		m, err = t.ask(ctx, req, emit)
	}
	return m, err
}

// outgrown reports whether err says that the conversation is too long. A body
// that is too large has a block that is the reason, if there is one.
func (t *turn) outgrown(err error) bool {
	api, ok := errors.AsType[*oneloop.APIError](err)
	if !ok || api.Class != oneloop.ErrTooLarge {
		return errors.Is(err, oneloop.ErrContextOverflow)
	}
	p := poison{req: t.asked, err: api}
	return t.repairs == Repairs || t.inARow == repairsInARow || !p.find()
}

// shrink makes the conversation shorter after the API refused req for its
// length, and returns what is to be sent instead. tries is how often that was
// done before.
func (t *turn) shrink(ctx context.Context, req *oneloop.Request, refusal error, tries int) (*oneloop.Request, error) {
	s := t.session
	room := s.learn(req, refusal)
	how := shortening{Occasion: Occasion{Trigger: "auto"}, keep: min(s.Window.keep(s.limit(req)), room/4), room: room}
	if tries > 0 {
		how.keep, how.bare = 0, true
	}
	err := s.shorten(ctx, t.watch, req, how)
	switch {
	case errors.Is(err, ErrNothing), errors.Is(err, ErrNoCompaction):
		return nil, refusal
	case err != nil:
		if held, ok := errors.AsType[*heldError](err); ok {
			return nil, fmt.Errorf("%w; it was not made shorter: %w", refusal, held.err)
		}
		return nil, err
	}
	return s.Transcript.Request(ctx)
}

// spilled reports whether a turn goes on after its reply was cut at the end
// of the window: what comes next makes the conversation shorter first.
func (t *turn) spilled() bool {
	if p, played := t.session.Transcript.(Playback); played {
		t.goneOn++
		return p.GoesOn()
	}
	if _, can := t.session.Transcript.(compacter); !can {
		return false
	}
	t.goneOn++
	t.full = true
	return t.goneOn <= Continuations
}

// shortening is how a conversation is made shorter.
type shortening struct {
	Occasion
	keep  int64 // tokens of the newest rounds that stay
	least int64 // tokens there are to win, or it is not done
	room  int64 // tokens a request may have, by its text; 0: all that there is may be sent
	bare  bool  // the model is not asked
}

type compacter interface{ Compact(Compaction) error }

// heldError is that BeforeCompact said no.
type heldError struct{ err error }

func (e *heldError) Error() string { return e.err.Error() }
func (e *heldError) Unwrap() error { return e.err }

// shorten puts a summary in the place of what is in req but for what stays.
func (s *Session) shorten(ctx context.Context, emit func(oneloop.Event), req *oneloop.Request, how shortening) error {
	log, ok := s.Transcript.(compacter)
	if !ok {
		return ErrNoCompaction
	}
	before, _ := s.fitting.gauge.measure(req)
	if text := whole(req); before > text { // the API counts more than is estimated: so what stays is more, too
		how.keep, how.least = share(how.keep, text, before), share(how.least, text, before)
	}
	stay := staying(req.Messages, how.keep)
	gone, won := leaving(req.Messages, stay)
	if won == 0 || won < how.least {
		return ErrNothing
	}
	if s.BeforeCompact != nil {
		if err := s.BeforeCompact(ctx, how.Occasion); err != nil {
			return &heldError{err}
		}
	}
	if most := s.most(req); how.room == 0 && most > 0 && before > most {
		how.room = share(whole(req), most*8/10, before)
	}
	text, why, err := s.summary(ctx, emit, req, gone, how)
	if err != nil {
		return err
	}
	stay, words := inWords(req.Messages, stay)
	c := Compaction{Summary: s.standIn(text, tell(words, how.keep*3/2), req.Messages), Stay: stay, Before: before}
	if err := log.Compact(c); err != nil {
		return fmt.Errorf("make the conversation shorter: %w", err)
	}
	s.fitting.held, s.fitting.round = 0, 0
	next, err := s.Transcript.Request(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	after, _ := s.fitting.gauge.measure(next)
	emit(oneloop.Compacted{Trigger: how.Trigger, Before: before, After: after})
	if why != "" {
		emit(oneloop.Notice{Text: "The summary is a list made by rule: " + why + ". The log of the session has the whole conversation."})
	}
	return nil
}

// most is how far the window can be filled so that there is room left for a
// summary.
func (s *Session) most(req *oneloop.Request) int64 {
	if most := s.fitting.most.Load(); most > 0 {
		return most
	}
	limit := s.Window.limit(req.Params.MaxTokens)
	return limit + (int64(s.Window.Tokens)-limit)/2
}

// staying are the indexes of the messages that stay: the newest rounds with
// keep tokens at the most, the user's last message, and what they said since.
func staying(msgs []*oneloop.Message, keep int64) (stay []int) {
	cut := cutAt(msgs, keep)
	last := cut - 1
	if !slices.ContainsFunc(msgs[cut:], prompts) {
		for last >= 0 && !prompts(msgs[last]) {
			last--
		}
		room := max(keep/2, 2000)
		for i := cut - 1; i > last && last >= 0; i-- {
			if m := msgs[i]; m.Meta.Source == fromInbox && len(results(m)) == 0 && messageBound(m) <= room {
				room -= messageBound(m)
				stay = append(stay, i)
			}
		}
		if last >= 0 {
			stay = append(stay, last)
		}
		slices.Reverse(stay)
	}
	for i := cut; i < len(msgs); i++ {
		stay = append(stay, i)
	}
	return stay
}

// prompts reports whether the user said m.
func prompts(m *oneloop.Message) bool {
	return m.Role == oneloop.User && m.Meta.Source == "" && len(results(m)) == 0
}

// cutAt is where the newest rounds begin that have keep tokens together. The
// newest one may have half as much again. A round is whole: its calls, their
// answers, and what belongs to its reply.
func cutAt(msgs []*oneloop.Message, keep int64) int {
	cut, size := len(msgs), int64(0)
	for i := len(msgs) - 1; i > 0; i-- {
		size += messageBound(msgs[i])
		if size > keep && (cut < len(msgs) || size > keep*3/2) {
			break
		}
		if begins(msgs, i) {
			cut = i
		}
	}
	return cut
}

// begins reports whether a round begins with message i.
func begins(msgs []*oneloop.Message, i int) bool {
	m := msgs[i]
	before := msgs[i-1]
	return len(results(m)) == 0 && m.Meta.Source != fromDriver && before.Meta.Source != fromDriver &&
		(m.Role == oneloop.User || before.Role == oneloop.User)
}

// leaving are the messages that do not stay, and how many tokens are won
// without them. A summary that is replaced by another wins nothing.
func leaving(msgs []*oneloop.Message, stay []int) (gone []*oneloop.Message, won int64) {
	for i, m := range msgs {
		if slices.Contains(stay, i) {
			continue
		}
		gone = append(gone, m)
		if m.Meta.Source != fromSummary {
			won += messageBound(m)
		}
	}
	return gone, won
}

// inWords takes the rounds of a turn that goes on out of what stays, if there
// was reasoning in them: they are to be told in words. An API refuses them
// without their reasoning, and the reasoning behind anything but what it
// followed.
func inWords(msgs []*oneloop.Message, stay []int) (left []int, words []*oneloop.Message) {
	if msgs[len(msgs)-1].Role != oneloop.User {
		return stay, nil // the turn is over
	}
	from := goesOn(msgs)
	reasoned := false
	for _, i := range stay {
		if m := msgs[i]; i < from || m.Role == oneloop.User && len(results(m)) == 0 { // said by the user
			left = append(left, i)
			continue
		}
		words = append(words, msgs[i])
		reasoned = reasoned || withoutThinking(msgs[i]) != msgs[i]
	}
	if !reasoned {
		return stay, nil
	}
	return left, words
}

// standIn is the message that stands for what was left out. newest are rounds
// that are told in words.
func (s *Session) standIn(summary, newest string, msgs []*oneloop.Message) *oneloop.Message {
	var b strings.Builder
	b.WriteString("[The earlier part of this conversation was taken out, because your context window was filling up. This summary stands for it.]\n<summary>\n")
	b.WriteString(summary)
	b.WriteString("\n</summary>\n")
	said := []oneloop.Block{&oneloop.Text{Text: b.String()}}
	s.fitting.mu.Lock()
	notes := s.fitting.notes
	s.fitting.mu.Unlock()
	for _, n := range notes {
		if text := strings.TrimSpace(n.text()); text != "" {
			said = append(said, &oneloop.Text{Text: keptHead(n.name) + text + keptEnd})
		}
	}
	b.Reset()
	if newest != "" {
		b.WriteString("<newest>\nWhat you did last, word for word:\n" + newest + "\n</newest>\n")
	}
	b.WriteString("[What stands behind this is as it was, the user's last message word for word.")
	switch last := msgs[len(msgs)-1]; {
	case last.Role == oneloop.Assistant:
		b.WriteString(" That message was dealt with already, as the summary says.")
	case !prompts(last):
		b.WriteString(" The work on it is under way: go on from where it stands. Do not begin it anew, and do not speak of this summary.")
	}
	b.WriteString("]")
	m := oneloop.NewMessage(oneloop.User, append(said, &oneloop.Text{Text: b.String()})...)
	m.Meta.Source = fromSummary
	return m
}

func keptHead(name string) string { return fmt.Sprintf("<kept name=%q>\n", name) }

const keptEnd = "\n</kept>\n"

// Kept is what the summary in msgs carries under a name, as [Session.Keep] had
// it then; empty when there is no summary, or nothing in it. It stands in a
// block of its own, so that nothing in the words of the summary passes for it.
func Kept(msgs []*oneloop.Message, name string) string {
	for _, m := range slices.Backward(msgs) {
		if m.Meta.Source != fromSummary {
			continue
		}
		for _, b := range m.Blocks {
			if t, ok := b.(*oneloop.Text); ok {
				if text, ok := strings.CutPrefix(t.Text, keptHead(name)); ok {
					return strings.TrimSuffix(text, keptEnd)
				}
			}
		}
		break
	}
	return ""
}

// Words of APIs about a request that is too long, and the numbers in them: how
// long it is, what a reply may have beside it, what would be the most.
var lengths = sync.OnceValue(func() []length {
	return []length{
		{regexp.MustCompile(`(\d+) tokens > (\d+) maximum`), 1, 0, 2},
		{regexp.MustCompile(`(\d+) \+ (\d+) > (\d+)`), 1, 2, 3},
		{regexp.MustCompile(`maximum (?:context length|of)\D+(\d+) tokens?\D+(\d+)`), 2, 0, 1},
	}
})

type length struct {
	words             *regexp.Regexp
	used, reply, most int // which group has the number; 0: none
}

// stated is what a refusal says of lengths, in tokens; zeros when it says
// nothing.
func stated(refusal error) (used, most int64) {
	e, ok := errors.AsType[*oneloop.APIError](refusal)
	if !ok {
		return 0, 0
	}
	for _, l := range lengths() {
		found := l.words.FindStringSubmatch(e.Message)
		if found == nil {
			continue
		}
		used, most = number(found[l.used]), number(found[l.most])
		if l.reply > 0 {
			most -= number(found[l.reply])
		}
		if used > most && most > 0 {
			return used, most
		}
	}
	return 0, 0
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > 1<<40 {
		return 0
	}
	return n
}

// learn takes from a refusal how much fits. It returns how many tokens another
// request may have, by its text.
func (s *Session) learn(req *oneloop.Request, refusal error) (room int64) {
	size, _ := s.fitting.gauge.measure(req)
	text := whole(req)
	used, most := stated(refusal)
	if used == 0 { // all that is known is that this is too much
		used, most, room = 10, 9, text/2
	} else {
		room = share(text, most*8/10, used)
	}
	fits := max(share(size, most*95/100, used), 1)
	if was := s.fitting.most.Load(); was == 0 || fits < was {
		s.fitting.most.Store(fits)
	}
	return max(room, 1)
}

// share is n*part/of.
func share(n, part, of int64) int64 {
	return int64(float64(n) * float64(part) / float64(max(of, 1)))
}
