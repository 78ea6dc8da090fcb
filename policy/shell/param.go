package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param expands ${…}. An operator that is not followed gives either the
// variable as it is or unknown text.
func (x *expander) param(pe *syntax.ParamExp) result {
	if pe.Param == nil || pe.Length || pe.Width || pe.IsSet || pe.Names != 0 {
		return result{text: unknown, set: isSet}
	}
	r := x.lookup(pe.Param.Value)
	if pe.Excl {
		if r.many || strings.ContainsAny(r.text, unknown+fetched) || r.text == "" {
			return result{text: unknown, set: maybeSet}
		}
		r = x.lookup(r.text)
	}
	if pe.Index != nil && r.many {
		r = element(r, pe.Index)
	} else if r.many && pe.Param.Value != "@" && pe.Param.Value != "*" {
		r = element(r, nil)
	}
	switch {
	case pe.Exp != nil:
		return x.operator(pe, r)
	case pe.Slice != nil:
		return x.slice(pe.Slice, r)
	case pe.Repl != nil:
		return x.replace(pe.Repl, r)
	}
	return r
}

// element picks from an array.
func element(r result, index syntax.ArithmExpr) result {
	n := 0
	if index != nil {
		w, ok := index.(*syntax.Word)
		if !ok {
			return result{text: unknown, set: maybeSet}
		}
		if l := w.Lit(); l == "@" || l == "*" {
			return r
		}
		var err error
		if n, err = strconv.Atoi(w.Lit()); err != nil {
			return result{text: unknown, set: maybeSet}
		}
	}
	if n < 0 {
		n += len(r.list)
	}
	if n < 0 || n >= len(r.list) {
		return result{}
	}
	return result{text: r.list[n], set: isSet}
}

func (x *expander) operator(pe *syntax.ParamExp, r result) result {
	op, word := pe.Exp.Op, pe.Exp.Word
	empty := r.set == isUnset || r.set == isSet && !r.many && r.text == ""
	if r.set == maybeSet && x.choose(2) == 1 {
		empty = true
	}
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !empty {
			return r
		}
		other := result{text: x.single(word), set: isSet}
		if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
			x.j.keep(pe.Param.Value, &value{texts: []string{other.text}}, x.c)
		}
		return other
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if empty {
			return result{set: isSet}
		}
		return result{text: x.single(word), set: isSet}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if empty {
			return result{text: unknown, set: isSet} // bash stops here
		}
		return r
	case syntax.UpperAll:
		r.text = strings.ToUpper(r.text)
		return r
	case syntax.LowerAll:
		r.text = strings.ToLower(r.text)
		return r
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		cut := x.single(word)
		if strings.ContainsAny(cut, unknown+fetched+`*?[\`) {
			return x.either(r)
		}
		if op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix {
			r.text = strings.TrimPrefix(r.text, cut)
		} else {
			r.text = strings.TrimSuffix(r.text, cut)
		}
		return r
	}
	return x.either(r)
}

// either is the value as it is, or anything.
func (x *expander) either(r result) result {
	if x.choose(2) == 1 {
		return result{text: unknown, set: isSet}
	}
	return r
}

func (x *expander) slice(s *syntax.Slice, r result) result {
	from, ok := whole(s.Offset, 0)
	count, ok2 := whole(s.Length, len(r.text))
	if r.many || !ok || !ok2 || strings.ContainsAny(r.text, unknown+fetched) {
		return x.either(r)
	}
	n := len(r.text)
	if from < 0 {
		from += n
	}
	from = min(max(from, 0), n)
	to := from + count
	if count < 0 {
		to = n + count
	}
	r.text = r.text[from:min(max(to, from), n)]
	return r
}

// whole reads a plain number.
func whole(e syntax.ArithmExpr, missing int) (int, bool) {
	if e == nil {
		return missing, true
	}
	sign := 1
	if u, is := e.(*syntax.UnaryArithm); is && u.Op == syntax.Minus {
		sign, e = -1, u.X
	}
	w, is := e.(*syntax.Word)
	if !is {
		return 0, false
	}
	n, err := strconv.Atoi(w.Lit())
	return sign * n, err == nil
}

func (x *expander) replace(p *syntax.Replace, r result) result {
	from, to := x.single(p.Orig), x.single(p.With)
	if r.many || from == "" || strings.ContainsAny(from, unknown+fetched+`*?[\`) || from[0] == '#' || from[0] == '%' {
		return x.either(r)
	}
	n := 1
	if p.All {
		n = -1
	}
	r.text = strings.Replace(r.text, from, to, n)
	return r
}
