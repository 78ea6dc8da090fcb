package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stmts follows statements one after the other.
func (j *judge) stmts(list []*syntax.Stmt, c context) *state {
	for _, s := range list {
		ok, bad := j.stmt(s, c)
		c.st = join(ok, bad)
	}
	return c.st
}

// stmt follows one statement and returns the state when it went well and when
// it did not. It may change the state in c.
func (j *judge) stmt(s *syntax.Stmt, c context) (ok, bad *state) {
	if j.steps++; j.steps > maxSteps {
		j.report(c, Ask, RuleUnclear, Because("takes-too-long", "it takes too long to be followed"))
		return c.st, c.st
	}
	outer := c.st
	if s.Background || s.Coprocess || s.Disown {
		c.st = c.st.clone()
		c.forks++
	}
	c.part = c.slice(s)
	if s.Semicolon.IsValid() {
		c.part = strings.TrimRight(strings.TrimSuffix(c.part, ";"), "& \t")
	}
	for _, r := range s.Redirs {
		c = j.redirect(r, c)
	}
	switch cmd := s.Cmd.(type) {
	case nil:
		ok, bad = c.st, c.st
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.AndStmt || cmd.Op == syntax.OrStmt {
			ok, bad = j.andOr(s, c)
		} else {
			j.pipeline(cmd, c)
			ok, bad = c.st, c.st
		}
	default:
		ok, bad = j.command(s.Cmd, c)
	}
	if s.Negated {
		ok, bad = bad, ok
	}
	if outer != c.st && (s.Background || s.Coprocess || s.Disown) {
		return outer, outer
	}
	return ok, bad
}

// slice is the source of a node.
func (c context) slice(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > len(c.src) || to > len(c.src) || from > to {
		return c.part
	}
	return c.src[from:to]
}

// andOr follows a chain of && and ||. Such chains nest to the left and may be
// very long.
func (j *judge) andOr(s *syntax.Stmt, c context) (ok, bad *state) {
	type link struct {
		op syntax.BinCmdOperator
		s  *syntax.Stmt
	}
	var chain []link
	first := s
	for {
		b, is := first.Cmd.(*syntax.BinaryCmd)
		plain := first == s || len(first.Redirs) == 0 && !first.Negated && !first.Background
		if !is || !plain || (b.Op != syntax.AndStmt && b.Op != syntax.OrStmt) {
			break
		}
		chain = append(chain, link{b.Op, b.Y})
		first = b.X
	}
	ok, bad = j.stmt(first, c)
	c.guards++
	for _, l := range slices.Backward(chain) {
		if l.op == syntax.AndStmt {
			c.st = ok.clone()
			o, b := j.stmt(l.s, c)
			ok, bad = o, join(bad, b)
		} else {
			c.st = bad.clone()
			o, b := j.stmt(l.s, c)
			ok, bad = join(ok, o), b
		}
	}
	return ok, bad
}

// pipeline follows commands that run side by side, each in a shell of its own.
func (j *judge) pipeline(cmd *syntax.BinaryCmd, c context) {
	list := stages(cmd)
	c.pipe = c.part
	j.selfPipes(list, c)
	c.forks++
	bare := c
	bare.guess = true
	paths, ifUnset := j.lists(list[0], c), j.lists(list[0], bare)
	fetched := false
	for i, s := range list {
		cc := c
		cc.st = c.st.clone()
		if i > 0 {
			text, known := j.output(list[i-1:i], c)
			fetched = fetched || fetches(list[i-1:i])
			cc.stdin = input{piped: true, known: known, text: text, fetched: fetched, saved: i == 1 && saved(list[0])}
			switch {
			case i > 1:
				paths, ifUnset = j.through(paths, list[i-1], c), j.through(ifUnset, list[i-1], bare)
			case known:
				paths, ifUnset = strings.Fields(text), nil
			}
			if !known {
				cc.stdin.paths, cc.stdin.ifUnset = paths, ifUnset
			}
		}
		j.stmt(s, cc)
	}
}

// stages are the commands of a pipeline, the first one first.
func stages(cmd *syntax.BinaryCmd) []*syntax.Stmt {
	list := []*syntax.Stmt{cmd.Y}
	for x := cmd.X; ; {
		b, is := x.Cmd.(*syntax.BinaryCmd)
		if !is || len(x.Redirs) > 0 || (b.Op != syntax.Pipe && b.Op != syntax.PipeAll) {
			list = append(list, x)
			break
		}
		list = append(list, b.Y)
		x = b.X
	}
	slices.Reverse(list)
	return list
}

// selfPipes looks for a function that pipes itself into itself.
func (j *judge) selfPipes(list []*syntax.Stmt, c context) {
	count := map[string]int{}
	for _, s := range list {
		call, is := s.Cmd.(*syntax.CallExpr)
		if !is || len(call.Args) == 0 {
			continue
		}
		name := call.Args[0].Lit()
		if !slices.ContainsFunc(j.calls, func(r frame) bool { return r.name == name }) {
			continue
		}
		if count[name]++; count[name] > 1 {
			j.report(c, Deny, RuleForkBomb, Because("fork-bomb", "a fork bomb: the function %s starts itself again and again", name))
		}
	}
}

// command follows what is no list and no pipeline.
func (j *judge) command(cmd syntax.Command, c context) (ok, bad *state) {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		return j.call(cmd, c)
	case *syntax.Block:
		st := j.stmts(cmd.Stmts, c)
		return st, st
	case *syntax.Subshell:
		c.st = c.st.clone()
		before := c.st.clone()
		j.stmts(cmd.Stmts, c)
		return before, before
	case *syntax.IfClause:
		return j.ifClause(cmd, c)
	case *syntax.WhileClause:
		return j.loop(c, func(c context) *state {
			c.st = j.stmts(cmd.Cond, c)
			return j.stmts(cmd.Do, c)
		})
	case *syntax.ForClause:
		return j.forClause(cmd, c)
	case *syntax.CaseClause:
		return j.caseClause(cmd, c)
	case *syntax.FuncDecl:
		return j.declare(cmd, c)
	case *syntax.TimeClause:
		if cmd.Stmt == nil {
			return c.st, c.st
		}
		return j.stmt(cmd.Stmt, c)
	case *syntax.CoprocClause:
		before := c.st
		c.st = c.st.clone()
		c.forks++
		j.stmt(cmd.Stmt, c)
		return before, before
	case *syntax.DeclClause:
		j.inside(cmd, c)
		for _, a := range cmd.Args {
			if a.Name != nil {
				j.assign(a, c)
			}
		}
		return c.st, c.st
	}
	j.inside(cmd, c) // arithmetic and tests
	return c.st, c.st
}

func (j *judge) ifClause(cmd *syntax.IfClause, c context) (ok, bad *state) {
	st := j.stmts(cmd.Cond, c)
	c.guards++
	var out *state
	also := func(st *state) {
		if out != nil {
			st = join(out, st)
		}
		out = st
	}
	last := cmd
	for cl := cmd; cl != nil; cl = cl.Else {
		if cl != cmd {
			c.st = st.clone()
			st = j.stmts(cl.Cond, c)
		}
		c.st = st.clone()
		also(j.stmts(cl.Then, c))
		last = cl
	}
	if len(last.Cond) > 0 { // there is no else: perhaps nothing ran
		also(st)
	}
	return out, out
}

// loop follows a body none, one or two times: what the first time changed may
// matter the second time.
func (j *judge) loop(c context, body func(context) *state) (ok, bad *state) {
	c.guards++
	out := c.st
	for range 2 {
		before := out
		c.st = out.clone()
		after := body(c)
		out = join(before, after)
		if len(out.vars) == len(before.vars) && same(out, before) {
			break
		}
	}
	return out, out
}

func same(a, b *state) bool {
	if !slices.Equal(a.dirs, b.dirs) || !slices.Equal(a.ifUnset, b.ifUnset) || len(a.funcs) != len(b.funcs) {
		return false
	}
	for name, v := range a.vars {
		w := b.vars[name]
		if w == nil || !v.equals(w) || !v.bare().equals(w.bare()) {
			return false
		}
	}
	return true
}

func (v *value) equals(w *value) bool {
	return v == w || slices.Equal(v.texts, w.texts) && slices.Equal(v.list, w.list)
}

func (j *judge) forClause(cmd *syntax.ForClause, c context) (ok, bad *state) {
	iter, is := cmd.Loop.(*syntax.WordIter)
	if !is {
		j.inside(cmd.Loop, c)
		return j.loop(c, func(c context) *state { return j.stmts(cmd.Do, c) })
	}
	v := &value{}
	if !iter.InPos.IsValid() {
		for _, a := range c.st.args {
			v.add(a)
		}
		if c.st.anyArg {
			v.add(unknown)
		}
	}
	for _, w := range iter.Items {
		j.inside(w, c)
	}
	j.each(c, func(x *expander) bool {
		for _, f := range x.fields(iter.Items) {
			v.add(f)
		}
		return true
	})
	if len(v.texts) == 0 {
		v.texts = []string{unknown}
	}
	return j.loop(c, func(c context) *state {
		j.keep(iter.Name.Value, v, c)
		return j.stmts(cmd.Do, c)
	})
}

func (j *judge) caseClause(cmd *syntax.CaseClause, c context) (ok, bad *state) {
	j.inside(cmd.Word, c)
	start := c.st
	out := start.clone()
	c.guards++
	for _, item := range cmd.Items {
		for _, p := range item.Patterns {
			j.inside(p, c)
		}
		c.st = start.clone()
		st := j.stmts(item.Stmts, c)
		if item.Op != syntax.Break { // the next item may run after this one
			start = join(start, st)
		}
		out = join(out, st)
	}
	return out, out
}

// declare notes a function and judges its body as if it were called with
// anything: it may be called in ways that are not seen.
func (j *judge) declare(cmd *syntax.FuncDecl, c context) (ok, bad *state) {
	if cmd.Name == nil || cmd.Body == nil {
		return c.st, c.st
	}
	f := &function{body: cmd.Body, src: c.src}
	c.st.define(cmd.Name.Value, f)
	before := c.st.clone()
	j.enter(cmd.Name.Value, f, nil, true, c)
	return before, before
}

// enter follows a function's body.
func (j *judge) enter(name string, f *function, args []string, anyArg bool, c context) *state {
	i := slices.IndexFunc(j.calls, func(r frame) bool { return r.body == f.body })
	if i >= 0 {
		r := j.calls[i]
		if c.forks > r.forks && c.guards == r.guards {
			j.report(c, Deny, RuleForkBomb, Because("fork-bomb", "a fork bomb: the function %s starts itself again and again", name))
		}
		return c.st
	}
	j.calls = append(j.calls, frame{name, f.body, c.forks, c.guards})
	defer func() { j.calls = j.calls[:len(j.calls)-1] }()
	own, any := c.st.args, c.st.anyArg
	c.st = c.st.clone()
	c.st.args, c.st.anyArg = args, anyArg
	c.src = f.src
	ok, bad := j.stmt(f.body, c)
	after := join(ok, bad).clone()
	after.args, after.anyArg = own, any
	return after
}

// inside judges the commands inside of words, tests and arithmetic.
func (j *judge) inside(n syntax.Node, c context) {
	c.stdin = input{}
	c.st = c.st.clone()
	syntax.Walk(n, func(n syntax.Node) bool {
		j.reads(n, c)
		switch n := n.(type) {
		case *syntax.CmdSubst:
			cc := c
			cc.st = c.st.clone()
			j.stmts(n.Stmts, cc)
			return false
		case *syntax.ProcSubst:
			cc := c
			cc.st = c.st.clone()
			cc.stdin = input{piped: n.Op == syntax.CmdOut}
			cc.part = c.slice(n)
			j.stmts(n.Stmts, cc)
			return false
		case *syntax.Redirect, *syntax.Stmt:
			return false
		}
		return true
	})
}

// redirect judges where output goes and notes where input comes from.
func (j *judge) redirect(r *syntax.Redirect, c context) context {
	if r.Word != nil {
		j.inside(r.Word, c)
	}
	if r.Hdoc != nil {
		j.inside(r.Hdoc, c)
	}
	fd := "0"
	if r.N != nil {
		fd = r.N.Value
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if fd == "0" && r.Hdoc != nil {
			quoted := r.Word != nil && r.Word.Lit() == ""
			text := ""
			j.one(c, func(x *expander) { text = x.document(r.Hdoc, quoted) })
			if r.Op == syntax.DashHdoc {
				text = untab(text)
			}
			c.stdin = input{known: true, text: text}
		}
	case syntax.WordHdoc:
		text := ""
		j.one(c, func(x *expander) { text = x.single(r.Word) })
		c.stdin = input{known: true, text: text + "\n"}
	case syntax.RdrIn, syntax.DplIn:
		j.opened(r, c)
		if fd == "0" {
			var path string
			j.one(c, func(x *expander) { path = x.single(r.Word) })
			c.stdin = input{
				piped:   strings.ContainsAny(path, process+fetched),
				fetched: strings.Contains(path, fetched),
			}
			f := j.file(path)
			c.stdin.text, c.stdin.known, c.stdin.paths = f.text, f.known, f.paths
		}
	default:
		if r.Op == syntax.RdrInOut {
			j.opened(r, c)
		}
		j.each(c, func(x *expander) bool {
			for _, path := range x.fields([]*syntax.Word{r.Word}) {
				if r.Op != syntax.DplOut || strings.Trim(path, "0123456789-") != "" {
					j.parts.touch(path, x.c, true)
				}
				j.written(path, x.c)
			}
			return true
		})
	}
	return c
}

// opened notes the file that a redirection reads, under whatever number.
func (j *judge) opened(r *syntax.Redirect, c context) {
	j.each(c, func(x *expander) bool {
		if path := x.single(r.Word); r.Op != syntax.DplIn || strings.Trim(path, "0123456789-") != "" {
			j.parts.touch(path, x.c, false)
		}
		return true
	})
}

// file is what is known of the text behind the path of a process substitution.
func (j *judge) file(path string) input {
	_, number, is := strings.Cut(path, process)
	n, err := strconv.Atoi(number)
	if !is || err != nil || n >= len(j.files) {
		return input{}
	}
	return j.files[n]
}

// untab drops the tabs a <<- document is indented with.
func untab(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}
