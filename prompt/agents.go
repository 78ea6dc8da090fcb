package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of definitions of agents.
const (
	MostAgentBytes = 64 << 10 // of a file
	MostAgents     = 100      // files that are read of a folder
	agentHint      = 300      // bytes of a description that the model is shown
)

// Agent is an agent as a file defines it.
type Agent struct {
	Name        string
	Description string   // when to use it, on one line
	Tools       []string // those it has of its parent's; nil: all
	Without     []string // those of them it has not
	Model       string   // empty: its parent's
	Effort      string   // empty: its parent's
	MaxTurns    int      // requests; 0: as many as others may make
	Body        string   // its system prompt; empty: its parent's
	File        string   // where it is defined, for who is told
}

// unfollowed are fields of other programs that change what an agent may do, or
// where: who wrote them counts on it.
var unfollowed = []string{"allowed-tools", "permissionMode", "mcpServers", "hooks", "skills", "memory", "background", "isolation"}

// AgentFolder is a folder with definitions of agents, one in each file NAME.md.
type AgentFolder struct {
	FS   fs.FS
	Name string // for who is told
}

// Agents reads definitions. Of two with the same name the one in the folder
// that is named first counts. What could not be read, or is not followed, is
// said in notes, one line each; a folder that is not there has none.
func Agents(folders ...AgentFolder) (list []Agent, notes []string) {
	for _, folder := range folders {
		files, err := fs.ReadDir(folder.FS, ".")
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				notes = append(notes, fmt.Sprintf("the agents in %s are not read: %v", folder.Name, err))
			}
			continue
		}
		files = slices.DeleteFunc(files, func(f fs.DirEntry) bool {
			return f.IsDir() || path.Ext(f.Name()) != ".md" || strings.HasPrefix(f.Name(), ".")
		})
		if len(files) > MostAgents {
			notes = append(notes, fmt.Sprintf("only %d of the %d agents in %s are read", MostAgents, len(files), folder.Name))
			files = files[:MostAgents]
		}
		for _, f := range files {
			a, said := readAgent(folder, f.Name())
			for _, n := range said {
				notes = append(notes, path.Join(folder.Name, f.Name())+": "+n)
			}
			if a.Name != "" && !slices.ContainsFunc(list, func(b Agent) bool { return b.Name == a.Name }) {
				list = append(list, a)
			}
		}
	}
	return list, notes
}

// readAgent reads a definition; one without a name is none.
func readAgent(folder AgentFolder, name string) (a Agent, notes []string) {
	// Looked at before it is opened: opening a pipe waits for its writer.
	if info, err := fs.Stat(folder.FS, name); err == nil && !info.Mode().IsRegular() {
		return a, []string{"it is no ordinary file"}
	}
	f, err := folder.FS.Open(name)
	if err != nil {
		return a, []string{err.Error()}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MostAgentBytes+1))
	if err != nil {
		return a, []string{err.Error()}
	}
	if len(data) > MostAgentBytes {
		return a, []string{fmt.Sprintf("it is longer than %d KiB and not read", MostAgentBytes>>10)}
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return a, []string{"it is no text in UTF-8 and not read"}
	}
	fields, body, err := Frontmatter(data)
	if err != nil {
		notes = append(notes, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if err != nil && toolsUnread(data, fields) {
		return a, append(notes, "it is left out: which tools it is to have cannot be read")
	}
	a = Agent{
		Name: fields.Text("name"), Description: hint(fields.Text("description")), Tools: fields.List("tools"), Without: fields.List("disallowedTools"),
		Model: fields.Text("model"), Effort: fields.Text("effort"), Body: strings.TrimSpace(string(body)), File: path.Join(folder.Name, name),
	}
	var unseen [2]int
	a.Description, unseen[0] = revealed(a.Description)
	if a.Body, unseen[1] = revealed(a.Body); unseen[0]+unseen[1] > 0 {
		notes = append(notes, fmt.Sprintf("it holds %d characters that nobody sees; the model is shown them as escapes", unseen[0]+unseen[1]))
	}
	if a.Name == "" {
		a.Name = strings.TrimSuffix(name, ".md")
	}
	if !agentName(a.Name) {
		return Agent{}, append(notes, fmt.Sprintf("%q is no name of an agent, which has 1 to 64 letters, digits, - . _ or :", a.Name))
	}
	if _, given := fields["tools"]; given && a.Tools == nil {
		a.Tools = []string{} // none at all, and not all of them
	}
	for _, item := range slices.Concat(a.Tools, a.Without) {
		if strings.Contains(item, "(") {
			notes = append(notes, fmt.Sprintf("%s is no tool, so it is neither given nor taken: what a tool may do is for the permissions", item))
		}
	}
	if slices.Contains(a.Tools, "*") {
		a.Tools = nil
	}
	if a.Model == "inherit" {
		a.Model = ""
	}
	if s := fields.Text("maxTurns"); s != "" {
		if a.MaxTurns, err = strconv.Atoi(s); err != nil || a.MaxTurns < 1 {
			a.MaxTurns = 0
			notes = append(notes, fmt.Sprintf("maxTurns is no number of turns: %q", s))
		}
	}
	var left []string
	for _, name := range unfollowed {
		if _, given := fields[name]; given {
			left = append(left, name)
		}
	}
	if len(left) > 0 {
		notes = append(notes, "these fields are not followed: "+strings.Join(left, ", "))
	}
	return a, notes
}

// toolsUnread reports whether a file says which tools its agent has and that is
// none of the fields that could be read: it is not to have all of them instead.
func toolsUnread(file []byte, fields Fields) bool {
	for _, name := range []string{"tools", "disallowedTools"} {
		if _, read := fields[name]; !read && bytes.Contains(file, []byte("\n"+name+":")) {
			return true
		}
		if strings.ContainsAny(strings.Join(fields.List(name), ""), `[]{}"'`) { // taken as plain text
			return true
		}
	}
	return false
}

// hint is a description as the model is shown it: one line, not too long.
func hint(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > agentHint {
		s = strings.ToValidUTF8(s[:agentHint], "") + "…"
	}
	return s
}

func agentName(s string) bool {
	for _, r := range s {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._:", r)) {
			return false
		}
	}
	return 0 < len(s) && len(s) <= 64
}
