package webpage

// Block reports whether an element begins on a line of its own.
func Block(name string) bool {
	switch name {
	case "option", "optgroup", "legend":
		return true
	}
	return closesParagraph(name) || partOfTable(name)
}

// closesParagraph names the elements that do not lie in a p.
func closesParagraph(name string) bool {
	switch name {
	case "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl", "fieldset", "figcaption", "figure",
		"footer", "form", "header", "hgroup", "hr", "main", "menu", "nav", "ol", "p", "pre", "listing", "search", "section", "summary", "table",
		"ul", "li", "dd", "dt", "xmp", "plaintext":
		return true
	}
	return heading(name)
}

func heading(name string) bool {
	return len(name) == 2 && name[0] == 'h' && '1' <= name[1] && name[1] <= '6'
}

func partOfTable(name string) bool {
	switch name {
	case "caption", "tbody", "thead", "tfoot", "tr", "td", "th":
		return true
	}
	return false
}

// noCell elements are a table or parts of one that have parts in them only.
func noCell(name string) bool {
	switch name {
	case "table", "tbody", "thead", "tfoot", "tr":
		return true
	}
	return false
}

// level is how many other parts a part of a table lies in.
func level(name string) int {
	switch name {
	case "tr":
		return 1
	case "td", "th":
		return 2
	}
	return 0
}

// void elements have no end tag and nothing in them.
func void(name string) bool {
	switch name {
	case "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr":
		return true
	}
	return false
}

// endsAlone names the elements whose end tag may be left out.
func endsAlone(name string) bool {
	switch name {
	case "p", "li", "dd", "dt", "option", "optgroup":
		return true
	}
	return false
}

// formatting elements end alone: what was begun in them goes on.
func formatting(name string) bool {
	switch name {
	case "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return true
	}
	return false
}

// leaves names the elements that end an svg or math around them.
func leaves(name string) bool {
	switch name {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr",
		"ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	}
	return heading(name)
}

// outer elements of svg and math have HTML in them.
func outer(name string) bool {
	switch name {
	case "foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext":
		return true
	}
	return false
}

// stop is a set of searches for an open element that end at another one.
type stop uint8

const (
	inTable  stop = 1 << iota // of a table and its parts
	inScope                   // of most elements
	inButton                  // of p
	inList                    // of items: an inner list ends it
	inLine                    // of inline elements: any block ends it
	never    stop = 0
)

// stops is what an element is the end of.
func stops(name string) (s stop) {
	switch name {
	case "template", "table":
		s = inTable | inScope | inButton
	case "td", "th", "caption", "applet", "marquee", "object":
		s = inScope | inButton
	case "button":
		s = inButton
	case "select":
	default:
		switch {
		case outer(name):
			s = inScope | inButton
		case !Block(name):
			return never
		}
	}
	switch name {
	case "address", "div", "p", "li", "dd", "dt":
		return s | inLine
	}
	return s | inLine | inList
}
