package webpage

import (
	"slices"
	"strings"
)

// Node is an element of a page, or a piece of its text.
type Node struct {
	Name string // of an element, in lower case; "" of text
	Text string
	Attr []Attr
	Kids []*Node
}

// Value gives the attribute of that name, and "" where there is none.
func (n *Node) Value(name string) string {
	for _, a := range n.Attr {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// Has reports whether there is an attribute of that name.
func (n *Node) Has(name string) bool {
	for _, a := range n.Attr {
		if a.Name == name {
			return true
		}
	}
	return false
}

// Depth is how deep elements lie in one another at most. The text of deeper
// ones is kept.
const Depth = 512

// Parse reads a page. Its elements lie in a root of no meaning; html, head
// and body are left out. Nothing is an error: where the page is wrong, it is
// taken as browsers take it, mostly. An element of inline text that is closed
// with the block around it is not opened again in the next, as it is there.
func Parse(page string) *Node {
	if strings.IndexByte(page, '\r') >= 0 {
		page = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(page)
	}
	root := &Node{Name: "html"}
	b := builder{stack: []open{{Node: root}}, count: map[string]*int{}}
	for z := (&tokens{page: page}); ; {
		z.foreign = b.top().foreign
		t, ok := z.next()
		switch {
		case !ok:
			return root
		case t.kind == words:
			b.text(t.text)
		case t.kind == start:
			b.start(t)
		default:
			b.end(t.name)
		}
	}
}

// open is an element that has not ended.
type open struct {
	*Node
	count   *int // of open elements of its name; compared instead of the name
	depth   int
	stops   stop
	foreign bool // in it are tags of svg or math
}

type builder struct {
	stack []open          // the root is the first and never ends
	count map[string]*int // of names in stack
}

func (b *builder) top() open { return b.stack[len(b.stack)-1] }

// find gives the place of the innermost open element of that name, and -1
// where there is none or one in between stops the search.
func (b *builder) find(name string, s stop) int {
	count := b.count[name]
	if count == nil || *count == 0 {
		return -1
	}
	for i := len(b.stack) - 1; i > 0; i-- {
		switch o := &b.stack[i]; {
		case o.count == count:
			return i
		case o.stops&s != 0:
			return -1
		}
	}
	return -1
}

// drop ends the open elements from i to before j. Elements within that stay
// open stay where they are in the tree.
func (b *builder) drop(i, j int) {
	for _, o := range b.stack[i:j] {
		*o.count--
	}
	b.stack = append(b.stack[:i], b.stack[j:]...)
}

// close ends the innermost open element of that name and what is in it.
func (b *builder) close(name string, s stop) bool {
	i := b.find(name, s)
	if i > 0 {
		b.drop(i, len(b.stack))
	}
	return i > 0
}

// add puts n into the innermost open element. What stands in a table and in
// no cell goes before the table.
func (b *builder) add(n *Node) {
	in := b.top()
	if noCell(in.Name) && !partOfTable(n.Name) {
		around := b.stack[b.find("table", inTable)-1]
		last := len(around.Kids) - 1 // the table
		around.Kids = append(around.Kids[:last], n, around.Kids[last])
		return
	}
	in.Kids = append(in.Kids, n)
}

func (b *builder) push(n *Node) {
	in := b.top()
	if in.depth == Depth {
		return
	}
	b.add(n)
	foreign := (in.foreign || n.Name == "svg" || n.Name == "math") && !outer(n.Name)
	count := b.count[n.Name]
	if count == nil {
		count = new(int)
		b.count[n.Name] = count
	}
	*count++
	b.stack = append(b.stack, open{n, count, in.depth + 1, stops(n.Name), foreign})
}

func (b *builder) text(s string) {
	if s != "" && (strings.Trim(s, blanks) != "" || !noCell(b.top().Name)) {
		b.add(&Node{Text: s})
	}
}

func (b *builder) start(t token) {
	if b.top().foreign {
		if !leaves(t.name) {
			b.startForeign(t)
			return
		}
		b.close("svg", never)
		b.close("math", never)
	}
	n := &Node{Name: t.name, Attr: t.attrs}
	switch {
	case t.name == "html" || t.name == "head" || t.name == "body" || t.name == "frameset" || t.name == "colgroup":
		return
	case t.name == "form" && (noCell(b.top().Name) || b.find("form", never) > 0): // it is of no effect there
		return
	case t.name == "svg" || t.name == "math":
		b.startForeign(t)
		return
	case t.name == "image":
		n.Name = "img"
	case partOfTable(t.name):
		b.startPart(n)
		return
	}
	if !b.imply(t.name) {
		return
	}
	switch {
	case raw(t.name):
		if t.text != "" {
			n.Kids = []*Node{{Text: t.text}}
		}
		b.add(n)
	case void(n.Name):
		b.add(n)
	default:
		b.push(n)
	}
}

func (b *builder) startForeign(t token) {
	n := &Node{Name: t.name, Attr: t.attrs}
	if t.empty {
		b.add(n)
	} else {
		b.push(n)
	}
}

// imply ends what a start tag ends without saying so. It reports false where
// the tag has no other meaning.
func (b *builder) imply(name string) bool {
	if closesParagraph(name) {
		b.close("p", inButton)
	}
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		if heading(b.top().Name) {
			b.drop(len(b.stack)-1, len(b.stack))
		}
	case "li":
		b.close("li", inList)
	case "dd", "dt":
		b.close("dd", inList)
		b.close("dt", inList)
	case "option", "optgroup":
		for top := b.top().Name; top == "option" || top == "optgroup" && name == "optgroup"; top = b.top().Name {
			b.drop(len(b.stack)-1, len(b.stack))
		}
	case "a", "nobr":
		b.end(name)
	case "button":
		b.close("button", inScope)
	case "table":
		b.close("table", inScope) // which it is not in a cell of
	case "input", "textarea", "select":
		return !b.close("select", inScope) || name != "select"
	}
	return true
}

// startPart begins a part of a table, and ends the parts before it.
func (b *builder) startPart(n *Node) {
	i := b.find("table", inTable) + 1
	if i == 0 {
		return
	}
	// The parts around stay open where they are there.
	for _, around := range [][]string{{"tbody", "thead", "tfoot"}, {"tr"}}[:level(n.Name)] {
		if i == len(b.stack) || !slices.Contains(around, b.stack[i].Name) {
			b.drop(i, len(b.stack))
			b.push(&Node{Name: around[0]})
		}
		i++
	}
	b.drop(min(i, len(b.stack)), len(b.stack))
	b.push(n)
}

func (b *builder) end(name string) {
	switch {
	case name == "br":
		b.start(token{name: "br"})
	case heading(name):
		for _, h := range []string{"h1", "h2", "h3", "h4", "h5", "h6"} {
			if b.close(h, inScope) {
				return
			}
		}
	case formatting(name) || name == "form":
		i := b.find(name, inScope)
		if i < 0 {
			return
		}
		for name == "form" && endsAlone(b.top().Name) {
			b.drop(len(b.stack)-1, len(b.stack))
		}
		b.drop(i, i+1)
	case partOfTable(name) || name == "table":
		b.close(name, inTable)
	case name == "p":
		if !b.close("p", inButton) && !b.top().foreign {
			b.add(&Node{Name: "p"})
		}
	case name == "svg" || name == "math" || name == "template":
		b.close(name, never)
	case stops(name) != never:
		b.close(name, inScope)
	default:
		b.close(name, inLine)
	}
}
