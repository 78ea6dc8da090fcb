package shell

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// What is not known of a text stands in it as one of these runes. None of them
// can be in a command's arguments otherwise: NUL never is, and the others are
// taken out of the source before it is looked at.
const (
	unknown = "\x00" // any text, perhaps none
	fetched = "\x02" // any text, from the network or decoded
	process = "\x03" // the number of a process substitution's descriptor
	every   = "\x04" // as a part of a path: each file and folder of the tree
)

// context is where a statement stands.
type context struct {
	src    string // the text it is part of
	part   string // the part that reports name
	pipe   string // the pipeline around it, if it is in one
	st     *state
	stdin  input
	texts  int  // texts around this one
	forks  int  // pipes and & around it, within this judgement
	guards int  // conditions around it
	alts   int  // options of wrappers around it that were read in another way
	guess  bool // what is not known, variables above all, is taken for empty
	moving bool // variables decide what is run
}

// input is what a command reads.
type input struct {
	piped   bool // from another command
	known   bool
	text    string   // when known; may hold unknown runes
	paths   []string // or the paths it lists, when that much is known
	ifUnset []string // or which else, if what is not known is empty
	fetched bool
	saved   bool // it is what files hold that were there before
}

// frame is a function that is being followed.
type frame struct {
	name          string
	body          *syntax.Stmt // functions of one name may differ
	forks, guards int
}

// state is what a shell knows.
type state struct {
	vars    map[string]*value
	funcs   map[string]*function
	dirs    []string   // where it may be, absolute
	ifUnset []string   // where else, if what cd was given was empty
	prev    []string   // where cd - leads to; empty: unknown
	stack   [][]string // where popd leads to, the last one first
	args    []string   // $1 and on
	anyArg  bool       // args are not known
	shared  bool       // vars and funcs belong to others too
}

// value is what a variable may hold: one of some texts, or a list.
type value struct {
	texts   []string
	unset   bool // or nothing
	list    []string
	array   bool
	ifUnset *value // what it holds if what it was made of was empty; nil: the same
}

// bare is what v holds if what it was made of was empty.
func (v *value) bare() *value {
	if v.ifUnset != nil {
		return v.ifUnset
	}
	return v
}

type function struct {
	body  *syntax.Stmt
	src   string
	maybe bool // defined on some ways only
	path  bool // hash -p made it: the name stands for a program
}

const maxTextsOfVar = 32

// clone returns a state that can be changed without changing s.
func (s *state) clone() *state {
	s.shared = true
	c := *s
	return &c
}

func (s *state) own() {
	if s.shared || s.vars == nil {
		s.vars, s.funcs, s.shared = maps.Clone(s.vars), maps.Clone(s.funcs), false
	}
	if s.vars == nil {
		s.vars = map[string]*value{}
	}
	if s.funcs == nil {
		s.funcs = map[string]*function{}
	}
}

func (s *state) set(name string, v *value) {
	s.own()
	s.vars[name] = v
}

func (s *state) define(name string, f *function) {
	s.own()
	s.funcs[name] = f
}

// join returns what is known when either of two ways was taken.
func join(a, b *state) *state {
	if a == b {
		return a
	}
	m := a.clone()
	m.dirs, m.ifUnset, m.prev = union(m.dirs, b.dirs), union(m.ifUnset, b.ifUnset), union(m.prev, b.prev)
	if !slices.EqualFunc(a.stack, b.stack, slices.Equal[[]string]) {
		m.stack = nil
	}
	for name, v := range b.vars {
		if w, ok := a.vars[name]; !ok || w != v {
			m.set(name, mix(w, v))
		}
	}
	for name, v := range a.vars {
		if _, ok := b.vars[name]; !ok {
			m.set(name, mix(v, nil))
		}
	}
	for name, f := range b.funcs {
		if a.funcs[name] != f {
			g := *f
			g.maybe = true
			m.define(name, &g)
		}
	}
	for name, f := range a.funcs {
		if _, ok := b.funcs[name]; !ok {
			g := *f
			g.maybe = true
			m.define(name, &g)
		}
	}
	if !slices.Equal(a.args, b.args) || b.anyArg {
		m.args, m.anyArg = nil, true
	}
	return m
}

// union is a with what only b has, as far as that is worth following.
func union(a, b []string) []string {
	for _, d := range b {
		if len(a) < maxTextsOfVar && !slices.Contains(a, d) {
			a = append(slices.Clip(a), d)
		}
	}
	return a
}

// mix returns a value that may be either; nil is that of the environment.
func mix(a, b *value) *value {
	if a == nil {
		a = &value{texts: []string{unknown}, ifUnset: &value{unset: true}}
	}
	if b == nil {
		b = &value{texts: []string{unknown}, ifUnset: &value{unset: true}}
	}
	m := mixed(a, b)
	if a.ifUnset != nil || b.ifUnset != nil {
		m.ifUnset = mixed(a.bare(), b.bare())
	}
	return m
}

func mixed(a, b *value) *value {
	if a.array != b.array {
		return &value{texts: []string{unknown}}
	}
	m := &value{unset: a.unset || b.unset, array: a.array}
	if a.array {
		m.list = append(slices.Clip(a.list), b.list...)
		return m
	}
	m.texts = slices.Clone(a.texts)
	for _, t := range b.texts {
		m.add(t)
	}
	return m
}

// add makes t one of the texts v may hold.
func (v *value) add(t string) {
	if slices.Contains(v.texts, t) {
		return
	}
	if len(v.texts) >= maxTextsOfVar {
		v.texts[0] = unknown // so many that something else is possible too
		return
	}
	v.texts = append(v.texts, t)
}
