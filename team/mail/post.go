package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"oneloop/internal/watch"
)

// Defaults of [Limits].
const (
	DefaultText      = 32 << 10
	DefaultWaiting   = 100
	DefaultPerMinute = 20
	DefaultPerHour   = 120
	DefaultSends     = 30
)

// Limits bound what agents write. The zero value has the defaults; below zero
// means none.
type Limits struct {
	Text    int // bytes of a message; 0: DefaultText
	Waiting int // messages that wait in one mailbox; 0: DefaultWaiting

	// From one agent to another. At 20 in a minute two that only answer each
	// other are stopped as soon as they are faster than people read, at 120 in an
	// hour after an hour of one message each 30 seconds. They hold over restarts.
	PerMinute int // 0: DefaultPerMinute
	PerHour   int // 0: DefaultPerHour

	Sends int // of one agent in a minute, to whomever, as long as a [Post] is open; a broadcast is one; 0: DefaultSends
}

func limit(n, standard int) int {
	if n < 0 {
		return math.MaxInt
	}
	return cmp.Or(n, standard)
}

// Recipient is an agent that one may write to.
type Recipient struct {
	Name string
	Away string // why it reads no more, as in "has shut down"; empty: it does
}

// Roster says who there is. It is called by several goroutines.
type Roster interface {
	Recipient(name string) (r Recipient, known bool, err error)
	Recipients() ([]Recipient, error)
}

// Names is a roster of agents that are always there.
type Names []string

// Recipient is for [Post].
func (n Names) Recipient(name string) (Recipient, bool, error) {
	return Recipient{Name: name}, slices.Contains(n, name), nil
}

// Recipients is for [Post].
func (n Names) Recipients() (list []Recipient, err error) {
	for _, name := range n {
		list = append(list, Recipient{Name: name})
	}
	return list, nil
}

// Options make a [Post]. Roster is needed.
type Options struct {
	Roster Roster
	Limits Limits
	Now    func() time.Time // nil: time.Now
}

// Post is the mail of one project: a folder with the mailboxes of its agents. One
// serves all agents of a process. It is safe for concurrent use.
type Post struct {
	dir  string
	opts Options
	now  func() time.Time

	mu      sync.Mutex
	boxes   map[string]*box
	sends   map[string][]time.Time // of each agent, within the last minute
	folders *watch.Folders         // nil: nobody has waited yet
	closed  chan struct{}
}

// Open opens the mail in a folder, which is made when it is not there. Who can
// read that folder reads all mail: it belongs where the agents' commands cannot
// reach.
func Open(dir string, o Options) (*Post, error) {
	if o.Roster == nil {
		return nil, errors.New("open the mail: there is no roster")
	}
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open the mail: %q is no absolute path", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the mail: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Post{dir: dir, opts: o, now: func() time.Time { return o.Now().Round(0).UTC() },
		boxes: map[string]*box{}, sends: map[string][]time.Time{}, closed: make(chan struct{})}, nil
}

// Close ends all waiting and closes the files. Mailboxes are closed by those who
// read them.
func (p *Post) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return nil
	default:
	}
	close(p.closed)
	var errs []error
	if p.folders != nil {
		errs = append(errs, p.folders.Close())
	}
	for _, b := range p.boxes {
		errs = append(errs, b.journal.Close())
	}
	return errors.Join(errs...)
}

// box is the mailbox of a name that was checked.
func (p *Post) box(name string) *box {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.boxes[name]
	if b == nil {
		b = newBox(p.dir, name)
		p.boxes[name] = b
	}
	return b
}

// watch is made when somebody waits for the first time; nil when p is closed.
func (p *Post) watch() *watch.Folders {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return nil
	default:
	}
	if p.folders == nil {
		p.folders = watch.New(p.dir)
	}
	return p.folders
}

// tell has those of this process look at a mailbox now.
func (p *Post) tell(b *box) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.folders != nil {
		p.folders.Tell(b.path)
	}
}

// Send sends a message and returns it with its id and time. When it returns nil
// the message survives a crash. ID, Time and To of what is sent are set here; From
// is for the program to set, never for its model.
//
// A message to oneself or to nobody who is there is refused, and one beyond the
// [Limits]; the error says why, in words for a model.
func (p *Post) Send(ctx context.Context, to string, m Message) (Message, error) {
	if err := p.check(&m); err != nil {
		return m, err
	}
	if err := p.known(to); err != nil {
		return m, err
	}
	if to == m.From {
		return m, refuse(ErrSelf, "you are %s: a message to yourself would only come back to you", to)
	}
	if err := p.count(m.From); err != nil {
		return m, err
	}
	return p.deliver(ctx, to, m)
}

func (p *Post) deliver(ctx context.Context, to string, m Message) (Message, error) {
	b := p.box(to)
	m.To = to
	m, err := b.add(ctx, m, p.opts.Limits, p.now)
	if err != nil {
		if refused := new(refusal); !errors.As(err, &refused) {
			err = fmt.Errorf("send a message to %s: %w", to, err)
		}
		return m, err
	}
	p.tell(b)
	return m, nil
}

// Delivery is what became of a message to all at one of them.
type Delivery struct {
	Message Message // without an id when it was not sent
	Err     error
}

// Broadcast sends a message to all who are there but its sender, and says of each
// what became of it. There is an error only when it went to nobody and nobody was
// tried.
func (p *Post) Broadcast(ctx context.Context, m Message) ([]Delivery, error) {
	if m.Kind == "" {
		m.Kind = ToAll
	}
	if err := p.check(&m); err != nil {
		return nil, err
	}
	all, err := p.opts.Roster.Recipients()
	if err != nil {
		return nil, fmt.Errorf("find who there is: %w", err)
	}
	all = slices.DeleteFunc(all, func(r Recipient) bool { return r.Away != "" || r.Name == m.From || CheckName(r.Name) != nil })
	if len(all) == 0 {
		return nil, refuse(ErrUnknown, "there is nobody but you, so nothing was sent")
	}
	if err := p.count(m.From); err != nil {
		return nil, err
	}
	list := make([]Delivery, len(all))
	var wg sync.WaitGroup // for the disk
	for i, r := range all {
		wg.Go(func() {
			list[i].Message, list[i].Err = p.deliver(ctx, r.Name, m)
			list[i].Message.To = r.Name
		})
	}
	wg.Wait()
	return list, nil
}

// longest of a summary, in bytes.
const longSummary = 200

// check makes m fit to be written, or says why it is not.
func (p *Post) check(m *Message) error {
	m.ID = ""
	if err := CheckName(m.From); err != nil {
		return fmt.Errorf("the sender: %w", err)
	}
	if m.Kind == "" {
		m.Kind = Plain
	}
	for _, field := range []string{string(m.Kind), m.ReplyTo, m.Request, m.Verdict} {
		if plain(field) != field || len(field) > 64 {
			return refuse(ErrText, "%.80q is no kind, id or verdict", field)
		}
	}
	switch most := limit(p.opts.Limits.Text, DefaultText); {
	case strings.TrimSpace(m.Text) == "":
		return refuse(ErrText, "the message is blank, so it was not sent. Say what the other is to know")
	case len(m.Text) > most:
		return refuse(ErrText, "the message has %d bytes, the most is %d, so it was not sent. Say it shorter, or put it into a file and say where that is", len(m.Text), most)
	case !utf8.ValidString(m.Text):
		return refuse(ErrText, "the message is not valid UTF-8, so it was not sent. Put what is not text into a file and say where that is")
	}
	m.Summary = strings.Join(strings.Fields(strings.ToValidUTF8(m.Summary, "?")), " ")
	if len(m.Summary) > longSummary {
		m.Summary = strings.ToValidUTF8(m.Summary[:longSummary-len("…")], "") + "…"
	}
	return nil
}

// known says why nothing can be sent to a name.
func (p *Post) known(name string) error {
	var r Recipient
	known, err := false, error(nil)
	if CheckName(name) == nil { // no other is asked for, and none makes a path
		r, known, err = p.opts.Roster.Recipient(name)
	}
	switch {
	case err != nil:
		return fmt.Errorf("find who there is: %w", err)
	case known && r.Away != "":
		return refuse(ErrAway, "%s %s, so nothing was sent. %s", name, r.Away, p.there())
	case !known:
		return refuse(ErrUnknown, "there is no agent named %.60q, so nothing was sent. %s", name, p.there())
	}
	return nil
}

// there says who is there.
func (p *Post) there() string {
	all, err := p.opts.Roster.Recipients()
	var names []string
	for _, r := range all {
		if r.Away == "" {
			names = append(names, r.Name)
		}
	}
	switch {
	case err != nil:
		return "Who there is could not be read: " + err.Error()
	case len(names) == 0:
		return "Nobody is there"
	}
	return "There are: " + strings.Join(names, ", ")
}

// count counts what an agent sends.
func (p *Post) count(from string) error {
	most := limit(p.opts.Limits.Sends, DefaultSends)
	if most == math.MaxInt {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	times := slices.DeleteFunc(p.sends[from], func(t time.Time) bool { return t.After(now) || now.Sub(t) >= time.Minute })
	if len(times) >= most {
		wait := times[len(times)-most].Add(time.Minute).Sub(now).Round(time.Second)
		p.sends[from] = times
		return refuse(ErrTooMany, "%s sent %d messages within one minute, and %d is the most. The next one can be sent in %v. Do not wait for that by sending: do something else, or end your turn", from, len(times), most, max(wait, time.Second))
	}
	p.sends[from] = append(times, now)
	return nil
}

// Waiting is what waits in the mailbox of a name, for those who look on: it stays
// there.
func (p *Post) Waiting(name string) (list []Message, err error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	b := p.box(name)
	err = b.journal.View(func() { list = slices.Clone(b.waiting) })
	if err != nil {
		return nil, fmt.Errorf("read the mailbox of %s: %w", name, err)
	}
	return list, nil
}
