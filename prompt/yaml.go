package prompt

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mostDepth is how deep lists and mappings may be in one another.
const mostDepth = 32

// readFields reads a block of YAML whose top is a mapping, field by field, so
// that one that is wrong does not take the others with it.
func readFields(src string) (Fields, error) {
	fields := Fields{}
	var wrong []error
	line := 1
	for len(src) > 0 {
		entry := src[:fieldEnd(src)]
		src = src[len(entry):]
		y := &yaml{src: entry}
		key, value, err := y.field()
		switch _, twice := fields[key]; {
		case key == "" && err == nil: // blank lines and comments
		case twice && key != "":
			err = fmt.Errorf("%s is there twice; the first one counts", key)
		case value != nil:
			fields[key] = value
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", line+1, err)) // behind the line "---"
		}
		line += strings.Count(entry, "\n")
	}
	return fields, errors.Join(wrong...)
}

// fieldEnd is where the next field of the top begins.
func fieldEnd(src string) int {
	for i := 0; ; {
		n := strings.IndexByte(src[i:], '\n')
		if n < 0 || i+n+1 == len(src) {
			return len(src)
		}
		i += n + 1
		if c := src[i]; c != ' ' && c != '\t' && c != '\n' && c != '#' && !isDash(src[i:]) {
			return i
		}
	}
}

// yaml reads one field. Columns are counted from the start of a line in bytes.
type yaml struct {
	src      string
	at       int
	depth    int
	brackets int // of those, levels of brackets
}

// field reads key and value. A value that is no YAML is, when it begins beside
// its key, the text that is there.
func (y *yaml) field() (key string, value any, err error) {
	if err := y.skip(); err != nil || y.at == len(y.src) {
		return "", nil, err
	}
	if !y.isKey() {
		return "", nil, errors.New("it is no field, which has a name, a colon and a space")
	}
	if key, err = y.key(); err != nil {
		return "", nil, err
	}
	begin := y.at
	if value, err = y.value(0); err == nil {
		if err = y.skip(); err == nil && y.at < len(y.src) {
			err = errors.New("something stands behind the value")
		}
	}
	if err == nil {
		return key, value, nil
	}
	beside, _, _ := strings.Cut(y.src[begin:], "\n")
	if beside = strings.TrimSpace(beside); beside == "" || beside[0] == '#' {
		return key, nil, fmt.Errorf("%s is left out: %w", key, err)
	}
	return key, strings.Join(strings.Fields(y.src[begin:]), " "), fmt.Errorf("%s is taken as plain text: %w", key, err)
}

// skip goes to what comes next that is no space, no end of a line, no comment.
func (y *yaml) skip() error {
	for y.at < len(y.src) {
		switch c := y.src[y.at]; {
		case c == '\t' && y.brackets == 0 && y.indents() && !blankLine(y.src[y.at:]):
			return errors.New("a tab is no indentation")
		case c == ' ' || c == '\n' || c == '\t':
			y.at++
		case y.isComment(y.at):
			y.at += len(lineOf(y.src[y.at:]))
		default:
			return nil
		}
	}
	return nil
}

// indents reports whether nothing but spaces is before on the line.
func (y *yaml) indents() bool {
	before := strings.TrimRight(y.src[:y.at], " ")
	return before == "" || strings.HasSuffix(before, "\n")
}

func (y *yaml) column() int { return y.at - strings.LastIndexByte(y.src[:y.at], '\n') - 1 }

func (y *yaml) isComment(at int) bool {
	return y.src[at] == '#' && (at == 0 || strings.IndexByte(" \t\n", y.src[at-1]) >= 0)
}

func lineOf(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// blankLine tells whether nothing but a comment is on a line.
func blankLine(s string) bool {
	line := strings.TrimSpace(lineOf(s))
	return line == "" || line[0] == '#'
}

func isDash(s string) bool {
	return s[0] == '-' && (len(s) == 1 || strings.IndexByte(" \t\n", s[1]) >= 0)
}

// isKey tells whether a key and its colon are what comes.
func (y *yaml) isKey() bool {
	try := *y
	_, err := try.key()
	return err == nil
}

// key reads a key and the colon behind it.
func (y *yaml) key() (string, error) {
	var key string
	var err error
	switch c := y.src[y.at]; {
	case c == '"' || c == '\'':
		if key, err = y.quoted(); err != nil {
			return "", err
		}
		for y.at < len(y.src) && y.src[y.at] == ' ' {
			y.at++
		}
	case strings.IndexByte("[]{}#&*!|>%@`,", c) >= 0 || c == '?' && isDash("-"+y.src[y.at+1:]):
		return "", errors.New("such a key is not read")
	default:
		begin := y.at
		for y.at < len(y.src) && y.src[y.at] != '\n' && !y.isComment(y.at) && !y.isColon(y.at) {
			y.at++
		}
		key = strings.TrimRight(y.src[begin:y.at], " \t")
	}
	if y.at == len(y.src) || !y.isColon(y.at) || key == "" {
		return "", errors.New("a key and a colon were expected")
	}
	y.at++
	return key, nil
}

// isColon tells whether what is at a place ends a key.
func (y *yaml) isColon(at int) bool {
	return y.src[at] == ':' && (at+1 == len(y.src) || strings.IndexByte(" \t\n", y.src[at+1]) >= 0)
}

// value reads what a key in this column is set to.
func (y *yaml) value(column int) (any, error) {
	if !y.lineEnds() {
		return y.scalar(column)
	}
	if err := y.skip(); err != nil || y.at == len(y.src) {
		return "", err
	}
	if y.column() == column && isDash(y.src[y.at:]) {
		return y.sequence()
	}
	if y.column() <= column {
		return "", nil
	}
	return y.block(column)
}

// lineEnds goes to what is next on the line and tells whether nothing is.
func (y *yaml) lineEnds() bool {
	for y.at < len(y.src) && (y.src[y.at] == ' ' || y.src[y.at] == '\t') {
		y.at++
	}
	return y.at == len(y.src) || y.src[y.at] == '\n' || y.isComment(y.at)
}

// block reads what stands deeper than the column of what it belongs to.
func (y *yaml) block(outer int) (any, error) {
	if y.depth++; y.depth > mostDepth {
		return nil, fmt.Errorf("more than %d levels", mostDepth)
	}
	defer func() { y.depth-- }()
	switch {
	case isDash(y.src[y.at:]):
		return y.sequence()
	case y.isKey():
		return y.mapping()
	}
	return y.scalar(outer)
}

func (y *yaml) mapping() (any, error) {
	all, column := map[string]any{}, y.column()
	for y.at < len(y.src) && y.column() == column {
		key, err := y.key()
		if err != nil {
			return nil, err
		}
		if _, twice := all[key]; twice {
			return nil, fmt.Errorf("%s is there twice", key)
		}
		if all[key], err = y.value(column); err != nil {
			return nil, err
		}
		if err := y.skip(); err != nil {
			return nil, err
		}
	}
	return all, y.noDeeper(column)
}

func (y *yaml) sequence() (any, error) {
	all, column := []any{}, y.column()
	for y.at < len(y.src) && y.column() == column && isDash(y.src[y.at:]) {
		y.at++
		var item any = ""
		y.lineEnds()
		err := y.skip()
		if err == nil && y.at < len(y.src) && y.column() > column {
			item, err = y.block(column)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, item)
		if err := y.skip(); err != nil {
			return nil, err
		}
	}
	return all, y.noDeeper(column)
}

// noDeeper is for the end of a mapping or a sequence.
func (y *yaml) noDeeper(column int) error {
	if y.at < len(y.src) && y.column() > column {
		return errors.New("the indentation does not fit")
	}
	return nil
}

// scalar reads text, or a list or a mapping in brackets, that belongs to
// something in this column.
func (y *yaml) scalar(column int) (any, error) {
	switch c := y.src[y.at]; {
	case c == '|' || c == '>':
		return y.literal(column)
	case c == '"' || c == '\'':
		text, err := y.quoted()
		return text, y.alone(err)
	case c == '[' || c == '{':
		v, err := y.flow()
		return v, y.alone(err)
	case strings.IndexByte("&*!%@`,]}", c) >= 0, (c == '-' || c == '?' || c == ':') && isDash("-"+y.src[y.at+1:]):
		return nil, fmt.Errorf("a value cannot begin with %c", c)
	}
	return y.plain(column)
}

// alone is an error when something stands behind a value on its line.
func (y *yaml) alone(err error) error {
	if err == nil && !y.lineEnds() {
		err = errors.New("something stands behind the value")
	}
	return err
}

// plain reads text without quotes, with the lines below that are deeper.
func (y *yaml) plain(column int) (any, error) {
	var lines []string
	for {
		begin := y.at
		for y.at < len(y.src) && y.src[y.at] != '\n' && !y.isComment(y.at) {
			if y.isColon(y.at) {
				return nil, errors.New("a colon with a space behind it needs quotes around the text")
			}
			y.at++
		}
		lines = append(lines, strings.Trim(y.src[begin:y.at], " \t"))
		if y.at == len(y.src) || y.src[y.at] == '#' {
			break
		}
		next := *y
		blank := 0
		for next.lineEnds() && next.at < len(next.src) && next.src[next.at] == '\n' {
			next.at++
			blank++
		}
		if next.at == len(next.src) || next.column() <= column || next.src[next.at] == '#' {
			break
		}
		for range blank - 1 {
			lines = append(lines, "")
		}
		y.at = next.at
	}
	text := fold(lines)
	if isNull(text) {
		text = ""
	}
	return text, nil
}

func isNull(text string) bool {
	return text == "~" || text == "null" || text == "Null" || text == "NULL"
}

// fold joins lines: one end of a line is a space, each further one stays.
func fold(lines []string) string {
	var b strings.Builder
	b.WriteString(lines[0])
	blank := 0
	for _, line := range lines[1:] {
		if line == "" {
			blank++
			continue
		}
		if blank == 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.Repeat("\n", blank) + line)
		blank = 0
	}
	return b.String()
}

// literal reads text behind | or >, which is in the lines below.
func (y *yaml) literal(column int) (any, error) {
	folded := y.src[y.at] == '>'
	y.at++
	chomp, indent := byte(0), 0
	for ; y.at < len(y.src); y.at++ {
		if c := y.src[y.at]; (c == '+' || c == '-') && chomp == 0 {
			chomp = c
		} else if c >= '1' && c <= '9' && indent == 0 {
			indent = column + int(c-'0')
		} else {
			break
		}
	}
	if !y.lineEnds() {
		return nil, errors.New("something stands behind | or >")
	}
	y.at += len(lineOf(y.src[y.at:]))
	var b strings.Builder
	blank, ended, before := 0, 0, false // blank lines, ends of lines not written yet, whether the last line began with a space
	for y.at < len(y.src) {
		line := lineOf(y.src[y.at+1:])
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		if indent == 0 && spaces < len(line) {
			if indent = spaces; indent <= column {
				break
			}
		}
		if spaces == len(line) && (indent == 0 || spaces <= indent) {
			if y.at+1 == len(y.src) { // the end of the last line begins no other one
				break
			}
			blank++
			y.at += 1 + len(line)
			continue
		}
		if spaces < indent {
			break
		}
		y.at += 1 + len(line)
		line = line[indent:]
		spaced := line[0] == ' ' || line[0] == '\t'
		switch {
		case ended > 0 && folded && !before && !spaced && blank == 0:
			b.WriteByte(' ')
		case ended > 0 && (!folded || before || spaced):
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat("\n", blank) + line)
		blank, ended, before = 0, 1, spaced
	}
	if chomp != '-' && ended > 0 {
		b.WriteByte('\n')
	}
	if chomp == '+' {
		b.WriteString(strings.Repeat("\n", blank))
	}
	return b.String(), nil
}

// quoted reads text in quotes.
func (y *yaml) quoted() (string, error) {
	quote := y.src[y.at]
	y.at++
	var b strings.Builder
	for y.at < len(y.src) {
		switch c := y.src[y.at]; {
		case c == quote && quote == '\'' && strings.HasPrefix(y.src[y.at:], "''"):
			b.WriteByte(c)
			y.at += 2
		case c == quote:
			y.at++
			return b.String(), nil
		case c == '\\' && quote == '"':
			if err := y.escape(&b); err != nil {
				return "", err
			}
		case c == ' ' || c == '\t' || c == '\n':
			b.WriteString(y.white())
		default:
			b.WriteByte(c)
			y.at++
		}
	}
	return "", errors.New("a quote is not closed")
}

// white reads spaces; those around ends of lines are folded with them.
func (y *yaml) white() string {
	begin := y.at
	for y.at < len(y.src) && strings.IndexByte(" \t\n", y.src[y.at]) >= 0 {
		y.at++
	}
	all := y.src[begin:y.at]
	switch ends := strings.Count(all, "\n"); ends {
	case 0:
		return all
	case 1:
		return " "
	default:
		return strings.Repeat("\n", ends-1)
	}
}

// escape reads what stands behind a backslash, and it.
func (y *yaml) escape(b *strings.Builder) error {
	if y.at+1 == len(y.src) {
		return errors.New("a quote is not closed")
	}
	c := y.src[y.at+1]
	y.at += 2
	const letters = "0abt\tnvfre \"/\\N_LP"
	if i := strings.IndexByte(letters, c); i >= 0 {
		b.WriteRune([]rune("\x00\a\b\t\t\n\v\f\r\x1b \"/\\\u0085\u00a0\u2028\u2029")[i])
		return nil
	}
	digits := 0
	switch c {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	}
	switch {
	case c == '\n':
		begin := y.at
		y.white()
		b.WriteString(strings.Repeat("\n", strings.Count(y.src[begin:y.at], "\n")))
		return nil
	case digits > 0 && y.at+digits <= len(y.src):
		n, err := strconv.ParseUint(y.src[y.at:y.at+digits], 16, 32)
		if err == nil && utf8.ValidRune(rune(n)) {
			y.at += digits
			b.WriteRune(rune(n))
			return nil
		}
	}
	return fmt.Errorf(`\%c is no escape`, c)
}

// flow reads what is in brackets: a list or a mapping.
func (y *yaml) flow() (any, error) {
	if y.depth++; y.depth > mostDepth {
		return nil, fmt.Errorf("more than %d levels", mostDepth)
	}
	y.brackets++ // in which what a line begins with is no indentation
	defer func() { y.depth--; y.brackets-- }()
	isList := y.src[y.at] == '['
	y.at++
	list, all := []any{}, map[string]any{}
	for first := true; ; first = false {
		if err := y.skip(); err != nil {
			return nil, err
		}
		switch {
		case y.at == len(y.src):
			return nil, errors.New("a bracket is not closed")
		case isList && y.src[y.at] == ']':
			y.at++
			return list, nil
		case !isList && y.src[y.at] == '}':
			y.at++
			return all, nil
		case y.src[y.at] == ',' && !first:
			y.at++
			if err := y.skip(); err != nil {
				return nil, err
			}
			if y.at < len(y.src) && strings.IndexByte("]}", y.src[y.at]) >= 0 {
				continue // a comma behind the last one
			}
		case !first:
			return nil, errors.New("a comma is missing")
		}
		key, value, paired, err := y.flowItem()
		if err != nil {
			return nil, err
		}
		switch {
		case isList && paired:
			list = append(list, map[string]any{key.(string): value})
		case isList:
			list = append(list, key)
		default:
			name, ok := key.(string)
			if _, twice := all[name]; !ok || twice {
				return nil, errors.New("such a key is not read")
			}
			all[name] = value
		}
	}
}

// flowItem reads one item of a list, or a key with its value.
func (y *yaml) flowItem() (key, value any, paired bool, err error) {
	value = ""
	if key, err = y.flowValue(); err != nil {
		return nil, nil, false, err
	}
	if err := y.skip(); err != nil || y.at == len(y.src) || y.src[y.at] != ':' {
		return key, value, false, err
	}
	if _, ok := key.(string); !ok {
		return nil, nil, false, errors.New("such a key is not read")
	}
	y.at++
	if err := y.skip(); err != nil || y.at == len(y.src) || strings.IndexByte(",]}", y.src[y.at]) >= 0 {
		return key, value, true, err
	}
	value, err = y.flowValue()
	return key, value, true, err
}

func (y *yaml) flowValue() (any, error) {
	if y.at == len(y.src) {
		return nil, errors.New("a bracket is not closed")
	}
	switch c := y.src[y.at]; {
	case c == '"' || c == '\'':
		return y.quoted()
	case c == '[' || c == '{':
		return y.flow()
	case strings.IndexByte("&*!|>%@`,]}#", c) >= 0, (c == '-' || c == '?' || c == ':') && isDash("-"+y.src[y.at+1:]):
		return nil, fmt.Errorf("a value cannot begin with %c", c)
	}
	var b strings.Builder
	for y.at < len(y.src) && strings.IndexByte(",[]{}", y.src[y.at]) < 0 {
		c := y.src[y.at]
		if y.isComment(y.at) || c == ':' && (y.isColon(y.at) || strings.IndexByte(",[]{}", y.src[y.at+1]) >= 0) {
			break
		}
		if c == ' ' || c == '\t' || c == '\n' {
			b.WriteString(y.white())
			continue
		}
		b.WriteByte(c)
		y.at++
	}
	text := strings.Trim(b.String(), " \t\n")
	if isNull(text) {
		text = ""
	}
	return text, nil
}
