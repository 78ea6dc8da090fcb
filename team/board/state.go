package board

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"oneloop/internal/rawjson"
)

// state is what comes out of the lines of a board. A line is one operation, so
// that one which was written in part counts for nothing:
//
//	{"v":1,"n":7,"t":"2026-01-02T15:04:05Z","by":"s1/ann","tasks":{"3":{"status":"completed"}}}
//
// It sets fields of tasks; null takes one away. A file that was rewritten begins
// with {"v":1,"n":…,"t":…,"last":57}: ids up to that one were given.
type state struct {
	wall    func() time.Time
	elapsed func() time.Duration // does not follow a clock that is set

	tasks   map[int]*task
	order   []*task       // by their ids
	waiters map[int][]int // of each task, those that wait for it, by ids; also of one that is not there
	last    int           // id that was given
	n       int64         // number of the last line
	size    int           // bytes of text
	more    fields
	lines   int // of JSON
	skipped int // of them, that are none of a board

	// The ends of leases, as they were before the lines came again.
	before map[int]lease
}

type lease struct {
	token int64
	until time.Time
	end   time.Duration
}

type task struct {
	id                               int
	subject, description, activeForm string
	status                           Status
	owner, process                   string
	token                            int64
	lease                            lease
	term                             time.Duration // of the lease, at its beginning
	blockedBy                        []int         // also those that are not there any more
	metadata                         []byte        // an object, or nothing
	worktree, result, failed         string
	lost                             int // owners in a row that did not come back
	created, updated                 time.Time
	more                             fields
}

// fields are those of newer programs, in the order they came.
type fields []struct {
	name  string
	value []byte
}

func (f *fields) set(name []byte, value rawjson.Value) {
	i := 0
	for i < len(*f) && (*f)[i].name != string(name) {
		i++
	}
	switch {
	case value.IsNull() && i < len(*f):
		*f = slices.Delete(*f, i, i+1)
	case value.IsNull():
	case i == len(*f):
		*f = append(*f, struct {
			name  string
			value []byte
		}{string(name), bytes.Clone(value)})
	default:
		(*f)[i].value = bytes.Clone(value)
	}
}

func (f fields) bytes() (n int) {
	for _, one := range f {
		n += len(one.name) + len(one.value)
	}
	return n
}

// Reset forgets all but how long leases last: that counts from when they were
// first seen.
func (s *state) Reset() {
	if len(s.tasks) > 0 {
		s.before = map[int]lease{}
		for id, t := range s.tasks {
			if !t.lease.until.IsZero() {
				s.before[id] = t.lease
			}
		}
	}
	*s = state{wall: s.wall, elapsed: s.elapsed, before: s.before}
}

// mostID is far above what is ever given; a line that says more is damaged.
const mostID = 1 << 31

// Apply takes the next line.
func (s *state) Apply(line []byte) {
	s.lines++
	v := rawjson.Value(bytes.Trim(line, " \t\r"))
	if !v.IsObject() {
		s.skipped++
		return
	}
	at, err := time.Parse(time.RFC3339Nano, v.Field("t").Text())
	known := err == nil
	for key, val := range v.Fields() {
		switch string(key) {
		case "v", "t", "by":
		case "n":
			if n, ok := val.Int(); ok {
				s.n = max(s.n, n)
			}
		case "last":
			if n, ok := val.Int(); ok && 0 < n && n < mostID {
				s.last = max(s.last, int(n))
			}
		case "tasks":
			known = known && val.IsObject()
			if !known {
				continue
			}
			for id, set := range val.Fields() {
				known = s.set(id, set, at) && known
			}
		default:
			s.more.set(key, val)
		}
	}
	if !known {
		s.skipped++
	}
}

// set sets fields of a task. Not ok: there is none of it. So a line about a task
// that was deleted does not bring it back, nor one whose first line is lost.
func (s *state) set(key []byte, set rawjson.Value, at time.Time) (ok bool) {
	id, err := strconv.Atoi(string(key))
	if err != nil || id <= 0 || id >= mostID || !set.IsObject() {
		return false
	}
	t := s.tasks[id]
	if t == nil {
		s.last = max(s.last, id)
		if set.Field("subject") == nil {
			return false
		}
		t = &task{id: id, status: Pending, created: at}
		if s.tasks == nil {
			s.tasks, s.waiters = map[int]*task{}, map[int][]int{}
		}
		s.tasks[id] = t
		s.order = slices.Insert(s.order, s.place(id), t)
	} else {
		s.size -= t.bytes()
	}
	renewed, names, was := false, 0, t.blockedBy
	for name, val := range set.Fields() {
		renewed = t.set(string(name), val) || renewed
		names++
	}
	if !renewed || names > 1 {
		t.updated = at // to hold on to a task does not change it
	}
	if renewed {
		s.see(t)
	}
	s.relink(id, was, t.blockedBy)
	if t.status == Deleted {
		delete(s.tasks, id)
		i := s.place(id)
		s.order = slices.Delete(s.order, i, i+1)
		s.relink(id, t.blockedBy, nil)
		return true
	}
	s.size += t.bytes()
	return true
}

// place is where a task is in the order, or is to be.
func (s *state) place(id int) int {
	i, _ := slices.BinarySearchFunc(s.order, id, func(t *task, id int) int { return t.id - id })
	return i
}

// relink keeps the waiters of those that a task waited for, and waits for now.
// The lists are in order.
func (s *state) relink(id int, was, is []int) {
	if slices.Equal(was, is) {
		return
	}
	for _, by := range was {
		if i, found := slices.BinarySearch(s.waiters[by], id); found {
			s.waiters[by] = slices.Delete(s.waiters[by], i, i+1)
		}
	}
	for _, by := range is {
		if i, found := slices.BinarySearch(s.waiters[by], id); !found {
			s.waiters[by] = slices.Insert(s.waiters[by], i, id)
		}
	}
}

// see has the lease of a task count from now on. It is over when as much time has
// passed here as it had left by its writer's clock, at most its length: a clock
// that was set back in between does not make it longer, and the time that a
// computer was suspended does not count for those who saw it before.
func (s *state) see(t *task) {
	t.lease.token = t.token
	if b, ok := s.before[t.id]; ok && b.token == t.token && b.until.Equal(t.lease.until) {
		t.lease = b
		return
	}
	left := t.lease.until.Sub(s.wall())
	t.lease.end = s.elapsed() + max(-mostLease, min(left, t.term))
}

func (t *task) bytes() int {
	return len(t.subject) + len(t.description) + len(t.activeForm) + len(t.metadata) + len(t.result) + len(t.failed) + 8*len(t.blockedBy) + t.more.bytes() + 64
}

// set sets one field, and says whether it was the end of the lease. A value of
// another kind than it knows changes nothing.
func (t *task) set(name string, v rawjson.Value) (renewed bool) {
	_, isText := v.Quoted()
	n, isInt := v.Int()
	text := func(to *string) {
		if isText || v.IsNull() {
			*to = v.Text()
		}
	}
	when := func(to *time.Time) (ok bool) {
		at, err := time.Parse(time.RFC3339Nano, v.Text())
		if ok = err == nil; ok {
			*to = at
		}
		return ok
	}
	switch name {
	case "subject":
		text(&t.subject)
	case "description":
		text(&t.description)
	case "activeForm":
		text(&t.activeForm)
	case "status":
		if isText && len(v) > len(`""`) {
			t.status = Status(v.Text())
		}
	case "owner":
		text(&t.owner)
	case "process":
		text(&t.process)
	case "worktree":
		text(&t.worktree)
	case "result":
		text(&t.result)
	case "failed":
		text(&t.failed)
	case "token":
		if isInt {
			t.token = max(t.token, n)
		}
	case "lost":
		if isInt {
			t.lost = int(max(0, min(n, 1<<30)))
		}
	case "term":
		if isInt {
			t.term = time.Duration(max(0, min(n, int64(mostLease/time.Millisecond)))) * time.Millisecond
		}
	case "until":
		if v.IsNull() {
			t.lease = lease{}
			return false
		}
		return when(&t.lease.until)
	case "created":
		when(&t.created)
	case "metadata":
		if t.metadata = nil; v.IsObject() {
			t.metadata = bytes.Clone(v)
		}
	case "blockedBy":
		t.blockedBy = nil
		for item := range v.Items() {
			if id, ok := item.Int(); ok && 0 < id && id < mostID && int(id) != t.id {
				t.blockedBy = append(t.blockedBy, int(id))
			}
		}
		slices.Sort(t.blockedBy)
		t.blockedBy = slices.Compact(t.blockedBy)
	default:
		t.more.set([]byte(name), v)
	}
	return false
}

// patch sets fields of one task.
type patch struct {
	id int
	b  []byte
}

func (p *patch) raw(name string, v []byte) *patch {
	if len(p.b) > 0 {
		p.b = append(p.b, ',')
	}
	p.b = append(rawjson.AppendString(p.b, name), ':')
	p.b = append(p.b, v...)
	return p
}

func (p *patch) text(name, v string) *patch { return p.raw(name, rawjson.AppendString(nil, v)) }
func (p *patch) int(name string, v int64) *patch {
	return p.raw(name, strconv.AppendInt(nil, v, 10))
}
func (p *patch) none(name string) *patch { return p.raw(name, []byte("null")) }
func (p *patch) time(name string, v time.Time) *patch {
	return p.raw(name, appendTime(nil, v))
}

func (p *patch) ids(name string, ids []int) *patch {
	b := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return p.raw(name, append(b, ']'))
}

func appendTime(b []byte, at time.Time) []byte {
	b = append(b, '"')
	b = at.UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// line is an operation as it is written.
func (s *state) line(at time.Time, by string, patches []*patch) []byte {
	b := head(s.n+1, at)
	if by != "" {
		b = rawjson.AppendString(append(b, `,"by":`...), by)
	}
	b = append(b, `,"tasks":{`...)
	for i, p := range patches {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, int64(p.id), 10)
		b = append(b, `":{`...)
		b = append(append(b, p.b...), '}')
	}
	return append(b, "}}"...)
}

func head(n int64, at time.Time) []byte {
	b := strconv.AppendInt([]byte(`{"v":1,"n":`), n, 10)
	return appendTime(append(b, `,"t":`...), at)
}

// rewritten are lines of which the same state comes out.
func (s *state) rewritten() [][]byte {
	first := strconv.AppendInt(append(head(s.n, s.wall()), `,"last":`...), int64(s.last), 10)
	for _, f := range s.more {
		first = append(rawjson.AppendString(append(first, ','), f.name), ':')
		first = append(first, f.value...)
	}
	lines := [][]byte{append(first, '}')}
	for _, t := range s.order {
		b := append(head(s.n, t.updated), `,"tasks":{"`...)
		b = append(strconv.AppendInt(b, int64(t.id), 10), `":{`...)
		b = append(append(b, s.whole(t).b...), "}}}"...)
		lines = append(lines, b)
	}
	return lines
}

// whole are all fields of a task.
func (s *state) whole(t *task) *patch {
	p := (&patch{id: t.id}).text("subject", t.subject).text("status", string(t.status)).time("created", t.created)
	for _, f := range []struct{ name, value string }{
		{"description", t.description}, {"activeForm", t.activeForm}, {"owner", t.owner}, {"process", t.process},
		{"worktree", t.worktree}, {"result", t.result}, {"failed", t.failed},
	} {
		if f.value != "" {
			p.text(f.name, f.value)
		}
	}
	if t.token > 0 {
		p.int("token", t.token)
	}
	if t.lost > 0 {
		p.int("lost", int64(t.lost))
	}
	if t.term > 0 {
		p.int("term", t.term.Milliseconds())
	}
	if !t.lease.until.IsZero() {
		p.time("until", t.lease.until)
	}
	if len(t.metadata) > 0 {
		p.raw("metadata", t.metadata)
	}
	if there := s.blockers(t); len(there) > 0 {
		p.ids("blockedBy", there)
	}
	for _, f := range t.more {
		p.raw(f.name, f.value)
	}
	return p
}

// blockers are those of a task that are there: what was deleted blocks nobody.
func (s *state) blockers(t *task) (ids []int) {
	for _, id := range t.blockedBy {
		if s.tasks[id] != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// waits are those of them that are not done.
func (s *state) waits(t *task) (ids []int) {
	for _, id := range t.blockedBy {
		if b := s.tasks[id]; b != nil && b.status != Completed {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *state) free(t *task) bool {
	for _, id := range t.blockedBy {
		if b := s.tasks[id]; b != nil && b.status != Completed {
			return false
		}
	}
	return true
}

// over says whether a lease is over, or there is none.
func (s *state) over(t *task) bool { return t.lease.until.IsZero() || s.elapsed() >= t.lease.end }

// waiting is the way from a task to one that it waits for, directly or through
// others, both included; nil: it does not wait for it. Of the tasks in changed
// the edges are those.
func (s *state) waiting(from, to int, changed map[int][]int) (way []int) {
	came := map[int]int{from: from}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			for ; at != from; at = came[at] {
				way = append(way, at)
			}
			way = append(way, from)
			slices.Reverse(way)
			return way
		}
		edges, ok := changed[at]
		if t := s.tasks[at]; !ok && t != nil {
			edges = t.blockedBy
		}
		for _, id := range edges {
			if _, seen := came[id]; !seen && (s.tasks[id] != nil || id == to) { // a new one is not there yet
				came[id] = at
				queue = append(queue, id)
			}
		}
	}
	return nil
}
