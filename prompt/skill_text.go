package prompt

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// Call is what a skill or a command is called with.
type Call struct {
	Args    string // what stands behind the name
	Session string // the session's id
	// Run runs a command that the text asks for, in the middle of which its
	// output is put. Nil: none is run, which the text then says.
	Run func(ctx context.Context, command string) string
}

// Bounds of the commands that one text may have run, and of what they print
// together, in bytes: it all stays in the conversation.
const (
	mostRuns    = 20
	mostPrinted = 64 << 10
)

// mostListed is how many files of a skill's folder are named.
const mostListed = 20

// Text is what the model is told when a skill or a command is used. The file is
// read anew each time.
//
//	<skill name="pdf" folder="/home/me/.agents/skills/pdf">
//	…
//	</skill>
//
// In it $ARGUMENTS is what stands behind the name, $1 to $99 are the words of
// that, ${CLAUDE_SESSION_ID} and ${CLAUDE_SKILL_DIR} what they say, and
// !`command`, at the begin of a word and outside of code blocks, is what the
// command prints. Arguments reach commands as those of a script do, and never
// become part of their text. Arguments that the text has no place for stand at
// its end.
func (k *Skill) Text(ctx context.Context, c Call) (string, error) {
	data, err := k.Place.text(k.Path)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", k.Path, withoutPath(err))
	}
	_, body, _ := Frontmatter(data) // what is wrong there was told when it was found
	f := filling{skill: k, call: c, words: split(c.Args), positions: k.Dir == "" || k.Hint != "" || strings.TrimSpace(c.Args) != ""}
	said, _ := revealed(strings.ReplaceAll(string(body), "\r\n", "\n"))
	text := f.fill(ctx, strings.TrimSpace(said))
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	if !f.placed && strings.TrimSpace(c.Args) != "" {
		text += "\n\nARGUMENTS: " + strings.TrimSpace(c.Args)
	}
	if k.Dir == "" {
		return fmt.Sprintf("<command name=%q>\n%s\n</command>", k.Name, text), nil
	}
	return fmt.Sprintf("<skill name=%q folder=%q>\n%s%s\n</skill>", k.Name, k.Folder(), text, k.files()), nil
}

// Folder is Dir by its real path, by which commands in a sandbox see it too
// where a link leads to it.
func (k *Skill) Folder() string {
	if real, err := filepath.EvalSymlinks(k.Dir); err == nil {
		return real
	}
	return k.Dir
}

// Runs are the commands that the text asks for, and whether it can be read.
func (k *Skill) Runs(ctx context.Context) (commands []string, err error) {
	_, err = k.Text(ctx, Call{Run: func(_ context.Context, command string) string {
		commands = append(commands, command)
		return ""
	}})
	return commands, err
}

// files names what else is in the folder of a skill.
func (k *Skill) files() string {
	var names []string
	more, dir := false, k.Folder()
	filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, at)
		switch {
		case err != nil || relErr != nil || rel == ".":
		case strings.HasPrefix(e.Name(), ".") && e.IsDir(), e.Name() == "node_modules":
			return fs.SkipDir
		case e.IsDir() || rel == filepath.Base(k.Path):
		case len(names) == mostListed:
			more = true
			return fs.SkipAll
		default:
			names = append(names, line(filepath.ToSlash(rel)))
		}
		return nil
	})
	if len(names) == 0 {
		return ""
	}
	if more {
		names = append(names, "…")
	}
	return "\n\n[In its folder: " + strings.Join(names, ", ") + "]"
}

// filling puts values into a text.
type filling struct {
	skill     *Skill
	call      Call
	words     []string
	positions bool // $1 is an argument: some texts mean it as it is
	placed    bool // the arguments have a place
	runs      int
	printed   int // bytes, by the commands
}

func (f *filling) fill(ctx context.Context, body string) string {
	var b strings.Builder
	code := "" // the mark that ends a block of code
	for l := range strings.Lines(body) {
		bare := strings.TrimSpace(l)
		mark := fenced(bare)
		f.line(ctx, &b, l, code == "" && mark == "")
		switch {
		case code == "":
			code = mark
		case strings.HasPrefix(mark, code) && mark == bare:
			code = ""
		}
	}
	return b.String()
}

// line fills one line. Commands are run if they may be in it.
func (f *filling) line(ctx context.Context, b *strings.Builder, l string, runs bool) {
	for i := 0; i < len(l); {
		if command, ok := commandAt(l, i); ok && runs {
			b.WriteString(f.run(ctx, command))
			i += len("!``") + len(command)
			continue
		}
		value, n := f.value(l[i:])
		if n == 0 {
			value, n = l[i:i+1], 1
		}
		b.WriteString(value)
		i += n
	}
}

// commandAt is the command between !` and `.
func commandAt(l string, i int) (command string, ok bool) {
	if !strings.HasPrefix(l[i:], "!`") || i > 0 && !strings.ContainsAny(l[i-1:i], " \t(:") {
		return "", false
	}
	command, _, ok = strings.Cut(l[i+2:], "`")
	return command, ok && strings.TrimSpace(command) != ""
}

// value is what stands for what text begins with, and how much that is; 0:
// nothing does.
func (f *filling) value(text string) (value string, size int) {
	if text[0] != '$' {
		return "", 0
	}
	switch {
	case strings.HasPrefix(text, "$ARGUMENTS"):
		f.placed = true
		return strings.TrimSpace(f.call.Args), len("$ARGUMENTS")
	case strings.HasPrefix(text, "${CLAUDE_SESSION_ID}"):
		return f.call.Session, len("${CLAUDE_SESSION_ID}")
	case strings.HasPrefix(text, "${CLAUDE_SKILL_DIR}") && f.skill.Dir != "":
		return f.skill.Folder(), len("${CLAUDE_SKILL_DIR}")
	}
	n, size := position(text)
	if size == 0 || !f.positions {
		return "", 0
	}
	f.placed = true
	if n > len(f.words) {
		return "", size
	}
	return f.words[n-1], size
}

// position reads $1 to $99.
func position(text string) (n, size int) {
	end := 1
	for end < len(text) && end < 4 && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(text[1:end])
	if err != nil || n < 1 || end == 4 {
		return 0, 0
	}
	return n, end
}

// run is what stands for a command.
func (f *filling) run(ctx context.Context, command string) string {
	f.runs++
	switch {
	case strings.Contains(command, "$"):
		f.placed = f.placed || takes(command)
		command = f.given(command)
	}
	switch {
	case f.call.Run == nil:
		return fmt.Sprintf("[not run: %s]", command)
	case f.runs > mostRuns:
		return fmt.Sprintf("[not run, more than %d commands: %s]", mostRuns, command)
	case f.printed >= mostPrinted:
		return fmt.Sprintf("[not run, those before it printed %d KiB, the most there may be: %s]", mostPrinted>>10, command)
	}
	out := strings.TrimRight(f.call.Run(ctx, command), "\n")
	left := mostPrinted - f.printed
	f.printed += len(out)
	if len(out) > left {
		out = strings.ToValidUTF8(out[:left], "") + fmt.Sprintf("\n[cut: the commands of this text may print %d KiB together. This one printed %d bytes: %s]", mostPrinted>>10, len(out), command)
	}
	return out
}

// takes reports whether a command uses arguments.
func takes(command string) bool {
	for at := range len(command) {
		rest, found := strings.CutPrefix(command[at:], "$")
		rest = strings.TrimPrefix(rest, "{")
		if found && (strings.HasPrefix(rest, "ARGUMENTS") || rest != "" && strings.IndexByte("@*123456789", rest[0]) >= 0) {
			return true
		}
	}
	return false
}

// given has a command find the arguments as a script does. As a part of its
// text they could be anything.
func (f *filling) given(command string) string {
	var b strings.Builder
	if strings.Contains(command, "$ARGUMENTS") || strings.Contains(command, "${ARGUMENTS") {
		b.WriteString("ARGUMENTS=" + quote(strings.TrimSpace(f.call.Args)) + "; ")
	}
	if strings.Contains(command, "CLAUDE_SKILL_DIR") {
		b.WriteString("CLAUDE_SKILL_DIR=" + quote(f.skill.Folder()) + "; ")
	}
	if strings.Contains(command, "CLAUDE_SESSION_ID") {
		b.WriteString("CLAUDE_SESSION_ID=" + quote(f.call.Session) + "; ")
	}
	if len(f.words) > 0 {
		b.WriteString("set --")
		for _, w := range f.words {
			b.WriteString(" " + quote(w))
		}
		b.WriteString("; ")
	}
	return b.String() + command
}

// quote is a word of a shell that stands for text.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// split takes arguments apart as a shell does: quotes hold words together.
func split(args string) (words []string) {
	var b strings.Builder
	var quoted rune
	begun := false
	for _, r := range args {
		switch {
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted == 0 && (r == '"' || r == '\'') && !begun:
			quoted, begun = r, true
		case quoted == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				words = append(words, b.String())
			}
			b.Reset()
			begun = false
		default:
			b.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, b.String())
	}
	return words
}
