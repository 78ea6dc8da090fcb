package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"oneloop/internal/config"
	"oneloop/internal/tui"
	"oneloop/policy"
)

// completion prints the script for a shell. The scripts know no word of ours:
// they ask this program with every Tab, by the word candidates, and so never
// are of another version.
func (p *program) completion(context.Context) error {
	words := p.opts.words
	if len(words) > 0 && words[0] == askedByShells {
		return p.printCandidates(words[1:])
	}
	if len(words) == 1 {
		for i, shell := range shells {
			if shell == words[0] {
				_, err := io.WriteString(p.stdout, completionScripts[i])
				return err
			}
		}
	}
	return usagef("%s", p.words.ShellUsage)
}

const askedByShells = "candidates"

// shells are those there is a script for.
var shells = []string{"bash", "zsh", "fish"}

var completionScripts = [...]string{bashCompletion, zshCompletion, fishCompletion}

// What a script does by itself.
const (
	anyFile   = ":files"
	anyFolder = ":dirs"
)

const bashCompletion = `# Completion for bash: eval "$(oneloop completion bash)"
_oneloop() {
    local line found
    COMPREPLY=()
    found=$("${COMP_WORDS[0]}" completion candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
    case $found in
    "" | :files) return 0 ;;
    :dirs)
        compopt -o filenames 2>/dev/null
        found=$(compgen -d -- "${COMP_WORDS[COMP_CWORD]}")
        ;;
    esac
    while IFS= read -r line; do
        [ -n "$line" ] && COMPREPLY+=("${line%%$'\t'*}")
    done <<<"$found"
}
complete -o default -F _oneloop oneloop
`

const zshCompletion = `#compdef oneloop
# Completion for zsh: eval "$(oneloop completion zsh)", behind compinit
_oneloop() {
    local line word about
    local -a found
    for line in ${(f)"$("${words[1]}" completion candidates -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
        case $line in
        :files) _files; return ;;
        :dirs) _files -/; return ;;
        esac
        word=${line%%$'\t'*} about=${line#*$'\t'}
        found+=("${word//:/\\:}${about:+:$about}")
    done
    _describe oneloop found
}
if [[ $funcstack[1] == _oneloop ]]; then
    _oneloop "$@"
else
    compdef _oneloop oneloop
fi
`

const fishCompletion = `# Completion for fish: oneloop completion fish | source
function __oneloop_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program completion candidates -- $words 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':dirs'
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c oneloop -k -f -a '(__oneloop_candidates)'
`

// candidate is what the word at the cursor may be.
type candidate struct{ word, about string }

// printCandidates prints what the last of words may be, one a line, with what
// it is about behind a tab. Where it knows nothing it prints nothing: nobody
// waits for an error there.
func (p *program) printCandidates(words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	out := bufio.NewWriter(p.stdout)
	for _, c := range p.candidates(words) {
		if c.about == "" && strings.HasPrefix(c.word, ":") {
			fmt.Fprintln(out, c.word)
			continue
		}
		fmt.Fprintf(out, "%s\t%s\n", c.word, c.about)
	}
	return out.Flush()
}

// candidates are what the last of words may be, behind those before it.
func (p *program) candidates(words []string) []candidate {
	flags := flagSet(new(options))
	before, now := words[:len(words)-1], words[len(words)-1]
	if n := len(before); now == "=" && n > 0 { // bash parts words there
		before, now = append(slices.Clone(before), "="), ""
	}
	if n := len(before); n > 1 && before[n-1] == "=" {
		if f := flagOf(flags, before[n-2]); f != nil {
			return p.valuesOf(f.Name, "", now)
		}
	}
	if name, value, ok := strings.Cut(now, "="); ok {
		if f := flagOf(flags, name); f != nil {
			return p.valuesOf(f.Name, name+"=", value)
		}
	}
	var plain []string // words that are neither flags nor their values
	for i := 0; i < len(before); i++ {
		f := flagOf(flags, before[i])
		switch {
		case before[i] == "--" || f != nil && f.Name == "print":
			return nil // what follows is the task
		case f == nil && !strings.HasPrefix(before[i], "-"):
			plain = append(plain, before[i])
		case f == nil || f.NoOptDefVal != "":
		case i+1 < len(before):
			if i++; f.Name == "directory" {
				p.opts.dir = before[i]
			}
		case f.Name != "resume" || !strings.HasPrefix(now, "-"):
			return p.valuesOf(f.Name, "", now)
		}
	}
	if strings.HasPrefix(now, "-") {
		return flagNames(flags, now)
	}
	return p.wordsBehind(plain, now)
}

// flagOf is the flag that a word of the command line is; nil: it is none.
func flagOf(flags *pflag.FlagSet, word string) *pflag.Flag {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return flags.Lookup(name)
	}
	if name, ok := strings.CutPrefix(word, "-"); ok && len(name) == 1 {
		return flags.ShorthandLookup(name)
	}
	return nil
}

func flagNames(flags *pflag.FlagSet, begun string) (found []candidate) {
	flags.VisitAll(func(f *pflag.Flag) {
		if name := "--" + f.Name; strings.HasPrefix(name, begun) {
			found = append(found, candidate{name, ""})
		}
	})
	return found
}

// wordsBehind are commands, and what goes behind them.
func (p *program) wordsBehind(plain []string, now string) []candidate {
	if len(plain) == 0 {
		var names []string
		for _, c := range commandsHere {
			names = append(names, c.name)
		}
		return begunWith(names, "", now)
	}
	i := slices.IndexFunc(commandsHere, func(c command) bool { return c.name == plain[0] })
	if i < 0 {
		return nil
	}
	c, last := commandsHere[i], plain[len(plain)-1]
	switch {
	case slices.Contains(c.files, last):
		return []candidate{{anyFile, ""}}
	case slices.Contains(c.sessions, last):
		return p.someSessions("", now)
	case len(plain) == 1:
		return begunWith(c.words, "", now)
	}
	return nil
}

// valuesOf are what a flag may be set to.
func (p *program) valuesOf(flag, prefix, now string) []candidate {
	switch flag {
	case "model", "fallback-model":
		return begunWith(p.modelNames(), prefix, now)
	case "effort":
		return begunWith(config.Efforts(), prefix, now)
	case "permission-mode":
		var modes []string
		for m := policy.Default; m <= policy.Bypass; m++ {
			modes = append(modes, m.String())
		}
		return begunWith(modes, prefix, now)
	case "output-format":
		return begunWith(outputFormats, prefix, now)
	case "sandbox":
		return begunWith(sandboxes, prefix, now)
	case "series":
		return begunWith(chapterNames(), prefix, now)
	case "tools":
		done := now[:strings.LastIndexByte(now, ',')+1]
		return begunWith(append(slices.Clone(toolNames), "bash"), prefix+done, now[len(done):])
	case "resume":
		return p.someSessions(prefix, now)
	case "image", "json-schema", "trace", "prompt":
		return []candidate{{anyFile, ""}}
	case "directory", "add-dir", "test":
		return []candidate{{anyFolder, ""}}
	}
	return nil
}

// begunWith are those of list that begin so.
func begunWith(list []string, prefix, begun string) (found []candidate) {
	for _, s := range list {
		if strings.HasPrefix(s, begun) {
			found = append(found, candidate{prefix + s, ""})
		}
	}
	return found
}

// someSessions are the newest of the folder.
func (p *program) someSessions(prefix, begun string) (found []candidate) {
	store, err := p.kept()
	if err != nil {
		return nil
	}
	dir, err := p.folder()
	if err != nil {
		return nil
	}
	list, err := store.List(realPath(dir))
	if err != nil {
		return nil
	}
	for _, l := range list {
		if id := tui.Visible(l.ID); strings.HasPrefix(id, begun) && len(found) < shownSessions {
			found = append(found, candidate{prefix + id, oneLine(p.sessionLine(l))})
		}
	}
	return found
}
