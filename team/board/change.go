package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"oneloop/internal/rawjson"
)

// New is a task that is to be made.
type New struct {
	Subject, Description, ActiveForm string
	BlockedBy, Blocks                []string
	Metadata                         json.RawMessage // an object; nil: none
	Owner                            string          // whom it is offered to; empty: everybody
	Worktree                         string
	By                               string // who makes it; empty: a person
}

// Create makes a task.
func (b *Board) Create(ctx context.Context, n New) (Task, error) {
	c := Change{By: n.By, Subject: &n.Subject, AddBlockedBy: n.BlockedBy, AddBlocks: n.Blocks, Metadata: n.Metadata}
	for _, f := range []struct {
		value string
		to    **string
	}{{n.Description, &c.Description}, {n.ActiveForm, &c.ActiveForm}, {n.Owner, &c.Owner}, {n.Worktree, &c.Worktree}} {
		if f.value != "" {
			*f.to = &f.value
		}
	}
	if err := c.check(); err != nil {
		return Task{}, err
	}
	id := 0
	err := b.update(ctx, n.By, func(now time.Time) ([]*patch, error) {
		if len(b.s.tasks) >= MostTasks {
			return nil, fmt.Errorf("the board has %d tasks, which is the most: delete some that are completed", len(b.s.tasks))
		}
		t := &task{id: b.s.last + 1, status: Pending}
		if t.id >= mostID {
			return nil, errors.New("the board has no ids left")
		}
		id = t.id
		return b.changed(t, &c, now)
	})
	if err != nil {
		return Task{}, err
	}
	return b.Task(strconv.Itoa(id))
}

// Change is what is to become of a task. What is nil or empty stays as it is.
type Change struct {
	By string // who wants it; empty: a person, who may take a task from its owner

	// Status InProgress claims the task for By; Completed completes it, Pending
	// gives it back, Deleted deletes it: by its owner, or when it has none.
	Status                           Status
	Subject, Description, ActiveForm *string
	// Owner is whom the task is offered to, for some time; empty: everybody. It
	// takes a task from the owner who says it.
	Owner                     *string
	AddBlocks, AddBlockedBy   []string
	DropBlocks, DropBlockedBy []string
	Metadata                  json.RawMessage // an object: its fields are set, null takes one away
	Worktree, Result          *string
}

// Changed is what became of it.
type Changed struct {
	Task  Task     // its Status is Deleted when it is not there any more
	Ready []string // tasks that can be started now because of it
}

// Change changes a task: all that is wanted, or nothing. The errors are those of
// [Board.Claim], and a [LostError] for an owner who has lost his claim and does
// not know it.
func (b *Board) Change(ctx context.Context, id string, c Change) (Changed, error) {
	if err := c.check(); err != nil {
		return Changed{}, err
	}
	if c.Status == InProgress {
		if _, err := b.presence.join(); err != nil {
			return Changed{}, fmt.Errorf("claim a task: %w", err)
		}
	}
	var out Changed
	n := 0
	err := b.update(ctx, c.By, func(now time.Time) ([]*patch, error) {
		t, err := b.find(id)
		if err != nil {
			return nil, err
		}
		n = t.id
		if c.Status == Completed && t.status != Completed || c.Status == Deleted {
			out.Ready = texts(b.freed(t.id))
		}
		return b.changed(t, &c, now)
	})
	if lost := new(LostError); errors.As(err, &lost) {
		b.forget(c.By, n, lost.Token)
	}
	if err != nil {
		return Changed{}, err
	}
	out.Task, err = b.Task(strconv.Itoa(n))
	if errors.Is(err, ErrNoTask) {
		out.Task, err = Task{ID: strconv.Itoa(n), Status: Deleted}, nil
	}
	if err != nil {
		return out, err
	}
	switch has := out.Task.Status == InProgress && out.Task.Owner == c.By; {
	case has && c.Status == InProgress:
		b.hold(c.By, n, out.Task.Token)
	case !has:
		b.forget(c.By, n, out.Task.Token)
	}
	return out, nil
}

// check makes texts what they are written as, and refuses what no board takes.
func (c *Change) check() error {
	short := func(what string, s *string) error {
		if s == nil {
			return nil
		}
		if *s = line(*s); utf8.RuneCountInString(*s) > longSubject {
			return fmt.Errorf("the %s has %d characters, the most is %d; longer text belongs into the description", what, utf8.RuneCountInString(*s), longSubject)
		}
		return nil
	}
	if err := errors.Join(short("subject", c.Subject), short("active form", c.ActiveForm), short("worktree", c.Worktree)); err != nil {
		return err
	}
	if c.Subject != nil && *c.Subject == "" {
		return errors.New("a task has a subject, this one is blank")
	}
	if c.Description != nil {
		*c.Description = strings.ToValidUTF8(*c.Description, "�")
		if n := utf8.RuneCountInString(*c.Description); n > longText {
			return fmt.Errorf("the description has %d characters, the most is %d; put the rest into a file and name it", n, longText)
		}
	}
	if c.Owner != nil && *c.Owner != "" {
		if err := checkOwner(*c.Owner); err != nil {
			return err
		}
	}
	if c.By != "" {
		if err := checkOwner(c.By); err != nil {
			return err
		}
	}
	switch c.Status {
	case "", Pending, Completed, Deleted:
	case InProgress:
		if c.By == "" {
			return errors.New("who begins with a task has a name")
		}
		if c.Owner != nil && *c.Owner != "" && !same(*c.Owner, c.By) {
			return fmt.Errorf("a task is begun by its owner alone: to give it to %s, set the owner and not the status", *c.Owner)
		}
	default:
		return fmt.Errorf("%.40q is no status: it is pending, in_progress, completed or deleted", c.Status)
	}
	if len(c.Metadata) > 0 {
		v := rawjson.Parse(c.Metadata)
		if !v.IsObject() {
			return errors.New("metadata is an object")
		}
		c.Metadata = json.RawMessage(v)
	}
	return nil
}

// changed makes the patches of a change. A task that is not on the board yet is
// new.
func (b *Board) changed(t *task, c *Change, now time.Time) ([]*patch, error) {
	p, err := b.moved(t, c, now)
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name    string
		to, was *string
	}{
		{"subject", c.Subject, &t.subject}, {"description", c.Description, &t.description}, {"activeForm", c.ActiveForm, &t.activeForm},
		{"worktree", c.Worktree, &t.worktree}, {"result", c.Result, &t.result},
	} {
		if f.to == nil || *f.to == *f.was {
			continue
		}
		if f.name == "result" {
			p.text(f.name, cut(*f.to, longResult))
		} else {
			p.text(f.name, *f.to)
		}
	}
	if err := merged(p, t, c.Metadata); err != nil {
		return nil, err
	}
	patches, err := b.linked(p, t, c)
	if err != nil {
		return nil, err
	}
	more := 0
	for _, one := range patches {
		more += len(one.b)
	}
	if b.s.size+more > MostBytes && more > 1000 {
		return nil, fmt.Errorf("the board holds %d MB of text, which is the most: delete tasks that are completed", MostBytes>>20)
	}
	return slices.DeleteFunc(patches, func(p *patch) bool { return len(p.b) == 0 }), nil
}

// moved is what a change does to the status and the owner.
func (b *Board) moved(t *task, c *Change, now time.Time) (*patch, error) {
	none := &patch{id: t.id}
	status := c.Status
	if status == "" && c.Owner == nil {
		return none, nil
	}
	if b.s.tasks[t.id] == nil { // it is new
		return b.offer(none, c.Owner, now), nil
	}
	if status == InProgress {
		if b.mine(t, c.By) {
			return none, b.stale(t, c.By)
		}
		if err := b.stale(t, c.By); err != nil {
			return nil, err
		}
		if err := b.open(t, c.By); err != nil {
			return nil, err
		}
		return b.taken(t, c.By, b.presence.own(), now), nil
	}
	if status == Completed && t.status == Completed {
		if c.By != "" && t.owner != c.By {
			return nil, &CompletedError{strconv.Itoa(t.id), t.owner}
		}
		return none, nil
	}
	mine := b.mine(t, c.By)
	if err := b.stale(t, c.By); err != nil {
		return nil, err
	}
	if c.By != "" && b.live(t) && !mine {
		return nil, &HeldError{ID: strconv.Itoa(t.id), Owner: t.owner, Left: t.lease.end - b.s.elapsed()}
	}
	switch status {
	case Completed:
		if c.By != "" && !mine {
			if err := b.open(t, c.By); err != nil {
				return nil, err
			}
		}
		p := completed(t, c.By, "")
		if !mine {
			p.int("token", t.token+1)
		}
		return p, nil
	case Deleted:
		return none.text("status", string(Deleted)), nil
	}
	if status == "" && t.status == Completed {
		return nil, fmt.Errorf("#%d is completed; set its status to pending to have it done again", t.id)
	}
	return b.offer(dropped(t, Pending), c.Owner, now), nil
}

func (b *Board) offer(p *patch, owner *string, now time.Time) *patch {
	if owner == nil || *owner == "" {
		return p
	}
	return p.text("owner", *owner).int("term", b.opts.Offer.Milliseconds()).time("until", now.Add(b.opts.Offer))
}

// stale refuses what an owner wants who was given a claim that is over and
// still thinks that he has the task.
func (b *Board) stale(t *task, by string) error {
	b.mu.Lock()
	token, has := b.held[by][t.id]
	b.mu.Unlock()
	if !has || token == t.token && (t.status == InProgress || t.status == Completed) {
		return nil
	}
	return b.lost(t.id, token)
}

// merged sets fields of the metadata.
func merged(p *patch, t *task, with []byte) error {
	if len(with) == 0 {
		return nil
	}
	fields := map[string]json.RawMessage{}
	for _, from := range [][]byte{t.metadata, with} {
		for key, val := range rawjson.Value(from).Fields() {
			if fields[string(key)] = json.RawMessage(val); val.IsNull() {
				delete(fields, string(key))
			}
		}
	}
	out := []byte{'{'}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(rawjson.AppendString(out, key), ':')
		out = append(out, rawjson.Clean(rawjson.Value(fields[key]))...)
	}
	if out = append(out, '}'); len(out) > longMetadata {
		return fmt.Errorf("the metadata has %d bytes, the most is %d", len(out), longMetadata)
	}
	p.raw("metadata", out)
	return nil
}

// linked makes the patches of a change of edges, behind p, which is that of t.
// An edge is kept with the task that waits.
func (b *Board) linked(p *patch, t *task, c *Change) ([]*patch, error) {
	patches := []*patch{p}
	if len(c.AddBlocks)+len(c.AddBlockedBy)+len(c.DropBlocks)+len(c.DropBlockedBy) == 0 {
		return patches, nil
	}
	edges := map[int][]int{} // of those that change
	of := func(w *task) []int {
		if e, ok := edges[w.id]; ok {
			return e
		}
		return b.s.blockers(w)
	}
	add := func(blocker, waits *task) error {
		if blocker.id == waits.id {
			return fmt.Errorf("#%d cannot wait for itself", t.id)
		}
		now := of(waits)
		if slices.Contains(now, blocker.id) {
			return nil
		}
		if len(now) >= MostBlockers {
			return fmt.Errorf("#%d waits for %d tasks, which is the most", waits.id, len(now))
		}
		if way := b.s.waiting(blocker.id, waits.id, edges); way != nil {
			return circle(waits.id, way)
		}
		edges[waits.id] = append(slices.Clone(now), blocker.id)
		slices.Sort(edges[waits.id])
		return nil
	}
	drop := func(blocker, waits *task) error {
		edges[waits.id] = slices.DeleteFunc(slices.Clone(of(waits)), func(id int) bool { return id == blocker.id })
		return nil
	}
	for _, group := range []struct {
		ids  []string
		each func(other *task) error
	}{
		{c.DropBlockedBy, func(o *task) error { return drop(o, t) }},
		{c.DropBlocks, func(o *task) error { return drop(t, o) }},
		{c.AddBlockedBy, func(o *task) error { return add(o, t) }},
		{c.AddBlocks, func(o *task) error { return add(t, o) }},
	} {
		for _, id := range group.ids {
			other, err := b.find(id)
			if err == nil {
				err = group.each(other)
			} else if strings.TrimPrefix(id, "#") == strconv.Itoa(t.id) {
				err = fmt.Errorf("#%d cannot wait for itself", t.id)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(edges)) {
		if id == t.id {
			p.ids("blockedBy", edges[id])
		} else {
			patches = append(patches, (&patch{id: id}).ids("blockedBy", edges[id]))
		}
	}
	return patches, nil
}

// circle says which one an edge would close.
func circle(waits int, way []int) error {
	s := fmt.Sprintf("#%d", waits)
	for _, id := range way {
		s += fmt.Sprintf(" waits for #%d,", id)
		if id != way[len(way)-1] {
			s += " which"
		}
	}
	return fmt.Errorf("none of these could ever be started: %s and so on", s)
}
