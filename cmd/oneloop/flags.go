package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"oneloop/internal/config"
	"oneloop/internal/tui"
	"oneloop/workspace"
)

// options are what the command line says.
type options struct {
	command string   // a reserved word, empty for a task or a conversation
	words   []string // what follows the command
	prompt  string   // the words that are not flags
	force   bool     // -p or --: the words are a prompt whatever they are
	given   bool     // there were words, maybe empty ones
	flags   []string // that were given, as they are written

	model        string
	fallback     string
	effort       string
	tools        string
	series       string
	system       string
	appendSystem string
	dir          string
	dirs         []string // further ones
	tree         string   // name of the worktree to work in
	anyTree      bool     // in a new one, under a name that is made up
	discard      bool     // what would be lost with a worktree is not wanted
	images       []string
	schema       string // file of the form the answer is to have, or that form
	maxTurns     int
	maxCost      float64
	output       string
	partial      bool
	mode         string
	sandbox      string
	search       string // "true" or "false"; empty: as the settings say
	memory       string // the same
	bell         string // "true", "false" or seconds; empty: as the settings say
	allowed      string // rules
	json         bool
	trust        bool
	goOn         bool   // with the folder's last session
	resume       string // id, the beginning of one, or name of a session
	pick         bool   // the user chooses which
	fork         bool   // go on with a copy of it
	all          bool   // sessions of every folder
	test         string // folder for a test that replays a session
	promptFile   string // system prompt to ask again with
	live         bool   // tools are run in a replay
	from         int    // turn to ask again from
	record       bool   // keep what the API answers
	trace        string // "" off, "-" stderr, else a file
	yes          bool
	help         bool
	version      bool
}

// usageError is a command line that cannot be run; exit code 2.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// parse reads the command line without the program's name.
func parse(args []string, words *tui.Text) (*options, error) {
	var o options
	f := flagSet(&o)
	args, o.pick = without(args, "-r", "--resume")
	args, o.anyTree = without(args, "--worktree")
	if err := f.Parse(args); err != nil {
		return nil, flagError(err, words)
	}
	f.Visit(func(g *pflag.Flag) { o.flags = append(o.flags, "--"+g.Name) })
	if o.anyTree {
		o.flags = append(o.flags, "--worktree")
	}
	if f.Changed("web-search") {
		o.search = f.Lookup("web-search").Value.String()
	}
	if f.Changed("no-memory") {
		o.memory = map[string]string{"true": "false", "false": "true"}[f.Lookup("no-memory").Value.String()]
	}
	if f.Changed("trace") && o.trace == "" {
		return nil, usagef(words.FlagValue, "--trace", "", "--trace, --trace=FILE")
	}
	if err := o.read(f.Args(), f.ArgsLenAtDash(), words); err != nil {
		return nil, err
	}
	if err := o.check(f, words); err != nil {
		return nil, err
	}
	return &o, nil
}

// flagSet are all flags, which set o.
func flagSet(o *options) *pflag.FlagSet {
	f := pflag.NewFlagSet("oneloop", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.SortFlags = false
	f.BoolVarP(&o.force, "print", "p", false, "")
	f.StringVar(&o.model, "model", "", "")
	f.StringVar(&o.fallback, "fallback-model", "", "")
	f.StringVar(&o.effort, "effort", "", "")
	f.StringVar(&o.tools, "tools", "", "")
	f.StringVar(&o.series, "series", "", "")
	f.StringVar(&o.system, "system-prompt", "", "")
	f.StringVar(&o.appendSystem, "append-system-prompt", "", "")
	f.StringVarP(&o.dir, "directory", "C", "", "")
	f.StringArrayVar(&o.dirs, "add-dir", nil, "")
	f.StringVar(&o.tree, "worktree", "", "")
	f.BoolVar(&o.discard, "discard", false, "")
	f.StringArrayVar(&o.images, "image", nil, "")
	f.StringVar(&o.schema, "json-schema", "", "")
	f.IntVar(&o.maxTurns, "max-turns", 0, "")
	f.Float64Var(&o.maxCost, "max-cost", 0, "")
	f.StringVar(&o.output, "output-format", "text", "")
	f.BoolVar(&o.partial, "include-partial-messages", false, "")
	f.StringVar(&o.mode, "permission-mode", "", "")
	f.StringVar(&o.sandbox, "sandbox", "", "")
	f.StringVar(&o.allowed, "allowed-tools", "", "")
	f.Bool("web-search", false, "")
	f.Bool("no-memory", false, "")
	f.StringVar(&o.bell, "bell", "", "")
	f.Lookup("bell").NoOptDefVal = "true"
	f.BoolVar(&o.json, "json", false, "")
	f.BoolVar(&o.trust, "trust", false, "")
	f.StringVar(&o.trace, "trace", "", "")
	f.Lookup("trace").NoOptDefVal = "-"
	f.StringVar(&o.test, "test", "", "")
	f.StringVar(&o.promptFile, "prompt", "", "")
	f.BoolVar(&o.live, "live-tools", false, "")
	f.IntVar(&o.from, "from", 0, "")
	f.BoolVar(&o.record, "record", false, "")
	f.BoolVarP(&o.goOn, "continue", "c", false, "")
	f.StringVarP(&o.resume, "resume", "r", "", "")
	f.BoolVar(&o.fork, "fork", false, "")
	f.BoolVar(&o.all, "all", false, "")
	f.BoolVar(&o.yes, "yes", false, "")
	f.BoolVarP(&o.help, "help", "h", false, "")
	f.BoolVar(&o.version, "version", false, "")
	return f
}

func rings(bell string) bool {
	_, ok := config.ParseBell(bell)
	return ok
}

// without takes a flag that may stand alone out of args where no value follows
// it.
func without(args []string, names ...string) ([]string, bool) {
	for i, a := range args {
		switch {
		case a == "--":
			return args, false
		case slices.Contains(names, a) && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")):
			return slices.Delete(slices.Clone(args), i, i+1), true
		}
	}
	return args, false
}

// flagError is pflag's error in our words.
func flagError(err error, words *tui.Text) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = "-" + unknown.GetSpecifiedName()
		}
		return usagef(words.UnknownFlag, name)
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		return usagef(words.FlagNeeds, "--"+missing.GetFlag().Name)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		possible := "true, false"
		switch invalid.GetFlag().Value.Type() {
		case "int":
			possible = wholeNumbers
		case "float64":
			possible = dollars
		}
		return usagef(words.FlagValue, "--"+invalid.GetFlag().Name, invalid.GetValue(), possible)
	}
	return usagef("%s", strings.ReplaceAll(err.Error(), "\n", " "))
}

// read tells a command from a prompt.
func (o *options) read(words []string, dash int, text *tui.Text) error {
	o.force = o.force || dash == 0
	o.given = len(words) > 0
	o.prompt = strings.Join(words, " ")
	if o.force || len(words) == 0 {
		return nil
	}
	if dash != 0 && slices.Contains(reserved, words[0]) {
		o.command, o.words = words[0], words[1:]
		if bare(words[0]) && !takes(words[0], words[1:]) {
			if only := wordsBehind(words[0]); len(only) > 0 {
				return usagef(text.OtherWords, words[0], strings.Join(only, ", "), strings.Join(words, " "))
			}
			return usagef(text.ExtraWords, words[0], strings.Join(words, " "))
		}
		return nil
	}
	if len(words) == 1 && dash < 0 {
		if near := nearWord(words[0]); near != "" {
			if !here(near) {
				return usagef(text.ReservedLater, words[0], near)
			}
			return usagef(text.ReservedWord, words[0], near)
		}
		if slices.Contains(slashCommands, words[0]) && words[0] != "/init" {
			return usagef(text.SlashTask, words[0])
		}
	}
	return nil
}

var (
	outputFormats = []string{"text", "json", "stream-json"}
	sandboxes     = []string{"auto", workspace.BackendNS, workspace.BackendBwrap, workspace.BackendLL, "none"}
)

// Values of flags that are numbers, as examples.
const (
	wholeNumbers = "1, 2, 3 …"
	dollars      = "0.5, 1, 20 … (US dollars)"
)

func (o *options) check(f *pflag.FlagSet, words *tui.Text) error {
	bad := func(flag string, value any, possible ...string) error {
		return usagef(words.FlagValue, flag, fmt.Sprint(value), strings.Join(possible, ", "))
	}
	switch {
	case !slices.Contains(outputFormats, o.output):
		return bad("--output-format", o.output, outputFormats...)
	case o.json && o.command != "policy" && o.command != "doctor" && o.command != "sessions" && o.command != "models":
		return usagef(words.FlagTogether, "--json", "policy, doctor, sessions, models")
	case f.Changed("sandbox") && !slices.Contains(sandboxes, o.sandbox):
		return bad("--sandbox", o.sandbox, sandboxes...)
	case f.Changed("bell") && !rings(o.bell):
		return bad("--bell", o.bell, "--bell", "--bell=30", "--bell=false")
	case f.Changed("json-schema") && (o.schema == "" || o.command != ""):
		return bad("--json-schema", o.schema, "FILE", `'{"type":"object", …}'`)
	case f.Changed("worktree") && workspace.CheckWorktreeName(o.tree) != nil:
		return usagef(words.TreeName, workspace.CheckWorktreeName(o.tree))
	case f.Changed("worktree") && o.anyTree:
		return bad("--worktree", o.tree, "--worktree", "--worktree "+o.tree)
	case (f.Changed("worktree") || o.anyTree) && o.command != "":
		return usagef(words.FlagApart, "--worktree", "oneloop "+o.command)
	case o.discard && o.command != "team":
		return usagef(words.FlagTogether, "--discard", "team worktrees remove")
	case f.Changed("max-turns") && o.maxTurns < 1:
		return bad("--max-turns", o.maxTurns, wholeNumbers)
	case f.Changed("max-cost") && (!(o.maxCost > 0) || math.IsInf(o.maxCost, 0)):
		return bad("--max-cost", o.maxCost, dollars)
	case f.Changed("series") && findChapter(o.series).name == "":
		return bad("--series", o.series, chapterNames()...)
	case o.series != "" && f.Changed("tools"):
		return usagef(words.FlagApart, "--series", "--tools")
	case f.Changed("resume") && o.resume == "", o.pick && (f.Changed("resume") || o.given && o.command == ""):
		return usagef(words.FlagNeeds, "--resume")
	case f.Changed("test") && o.command != "replay":
		return usagef(words.FlagTogether, "--test", "replay")
	case o.live && o.command != "replay":
		return usagef(words.FlagTogether, "--live-tools", "replay")
	case o.live && (o.model != "" || o.promptFile != "" || o.test != ""):
		return usagef(words.FlagApart, "--live-tools", "--model, --prompt, --test")
	case f.Changed("prompt") && o.command != "replay":
		return usagef(words.FlagTogether, "--prompt", "replay")
	case f.Changed("from") && o.model == "" && o.promptFile == "":
		return usagef(words.FlagTogether, "--from", "replay --model, replay --prompt")
	case f.Changed("from") && o.from < 1:
		return bad("--from", o.from, wholeNumbers)
	case o.test != "" && (o.model != "" || o.promptFile != ""):
		return usagef(words.FlagApart, "--test", "--model, --prompt")
	case f.Changed("test") && o.test == "":
		return usagef(words.FlagNeeds, "--test")
	case o.record && o.command != "":
		return usagef(words.FlagApart, "--record", o.command)
	case o.all && o.command != "sessions":
		return usagef(words.FlagTogether, "--all", "sessions")
	case o.goOn && (f.Changed("resume") || o.pick):
		return usagef(words.FlagApart, "--continue", "--resume")
	case o.fork && !o.goOn && !o.pick && !f.Changed("resume"):
		return usagef(words.FlagTogether, "--fork", "--continue, --resume")
	case o.partial && o.output != "stream-json":
		return usagef(words.FlagTogether, "--include-partial-messages", "--output-format stream-json")
	case f.Changed("tools") && strings.TrimSpace(o.tools) == "":
		return bad("--tools", o.tools, "Bash", "bash")
	case f.Changed("model") && strings.TrimSpace(o.model) == "":
		return bad("--model", o.model, "claude-sonnet-5 …")
	}
	o.inChapter(o.series)
	return nil
}
