package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"oneloop"
	"oneloop/internal/rawjson"
)

// Format is the version of the log that is written here. A log names its
// version in its first entry; older ones are read for ever.
const Format = 1

// Kinds of entries that are no events. The others are named as their event is.
const (
	kindHead    = "session" // the first entry: what the log is
	kindSetup   = "setup"   // system prompt, tools and parameters as they are sent from here on
	kindMessage = "message"
	kindIntent  = "intent"  // a call is about to run that must not run twice
	kindOutput  = "output"  // a piece of what such a call printed so far
	kindRewind  = "rewind"  // what follows the entry it names is no longer part of the conversation
	kindCompact = "compact" // a summary takes the place of what came before
	kindRedact  = "redact"  // a block is sent otherwise than it is kept
	kindQueue   = "queue"   // what waits to be said to the agent at work, newest last
	kindInfo    = "info"    // what lists of sessions show, newest last
)

// Head is the first entry of a log.
type Head struct {
	Version int    `json:"v"`
	ID      string `json:"id"`
	Dir     string `json:"dir"`               // the folder that is worked in
	Program string `json:"program,omitempty"` // the version that made the log
	User    string `json:"user,omitempty"`    // who made it and where, "uid@host"
	Parent  *Place `json:"parent,omitempty"`  // a fork: the conversation up to there comes first
	Child   *Child `json:"child,omitempty"`   // a subtask: of which call
	Series  string `json:"series,omitempty"`  // the chapter of a series that it is held to, as the program names it
}

// Place is an entry of a log.
type Place struct {
	ID string `json:"id"`
	N  int64  `json:"n"`
}

// Child says which call of which session a subtask was started by.
type Child struct {
	Of   string `json:"of"`   // id of the session
	Path string `json:"path"` // of the agent below that session, such as "2" or "2/1"
	Call string `json:"call,omitempty"`
	Type string `json:"type,omitempty"` // the name of its definition
}

// entry is one line of a log.
type entry struct {
	n    int64 // from 1, without gaps
	at   time.Time
	kind string
	data json.RawMessage // an object

	message *oneloop.Message // of a message that was read
}

// line is e as a line whose data is in parts, itself in parts. Line breaks in
// the data, which are white space in JSON, become spaces.
func (e entry) line(data [][]byte) [][]byte {
	head := append(make([]byte, 0, 80), `{"n":`...)
	head = strconv.AppendInt(head, e.n, 10)
	head = append(head, `,"t":"`...)
	head = e.at.UTC().AppendFormat(head, "2006-01-02T15:04:05.000Z")
	head = append(head, `","k":"`...)
	head = append(head, e.kind...)
	parts := append(make([][]byte, 0, len(data)+2), append(head, `","d":`...))
	for _, p := range data {
		parts = append(parts, oneLine(p))
	}
	return append(parts, []byte("}\n"))
}

// oneLine is JSON without line breaks.
func oneLine(data []byte) []byte {
	if !bytes.ContainsAny(data, "\r\n") {
		return data
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" "))
}

// parse reads a line. It does not look into the data, but for its being valid
// JSON, and a message that can be sent. The data shares the line's memory.
func parse(line []byte) (e entry, ok bool) {
	e, err := readEntry(line)
	return e, err == nil
}

// errNoEntry says that a line cannot be read. Another error of readEntry says
// that it could, and what it says cannot be so.
var errNoEntry = errors.New("it is no entry")

func readEntry(line []byte) (e entry, err error) {
	e, ours := parseOurs(line)
	if !ours { // somebody else wrote it, or wrote it anew
		var v struct {
			N    int64           `json:"n"`
			At   time.Time       `json:"t"`
			Kind string          `json:"k"`
			Data json.RawMessage `json:"d"`
		}
		if err := json.Unmarshal(line, &v); err != nil || v.N < 1 || v.Kind == "" || len(v.Data) == 0 || v.Data[0] != '{' {
			return e, errNoEntry
		}
		e = entry{n: v.N, at: v.At, kind: v.Kind, data: v.Data}
	}
	if rawjson.Unclean(line) {
		return e, errNoEntry
	}
	if e.kind == kindMessage { // reading it tells whether it is valid
		e.message = new(oneloop.Message)
		if e.message.UnmarshalJSON(e.data) != nil {
			return e, errNoEntry
		}
		if len(e.message.Blocks) == 0 && !bytes.Contains(e.data, []byte(`"content":`)) {
			return e, errors.New("the message in it has no content")
		}
		if err := sound(e.message); err != nil {
			return e, fmt.Errorf("the message in it cannot be sent: %w", err)
		}
		return e, nil
	}
	if ours && !json.Valid(line) {
		return e, errNoEntry
	}
	if near := kinds.near(e.kind); near != "" {
		return e, fmt.Errorf("%q is no kind of entry, it was %q", e.kind, near)
	}
	return e, nil
}

// kinds are those that are written here.
const kinds words = kindHead + " " + kindSetup + " " + kindMessage + " " + kindIntent + " " + kindOutput + " " + kindRewind + " " + kindCompact + " " +
	kindRedact + " " + kindQueue + " " + kindInfo + " " +
	words(oneloop.KindTurnStart) + " " + words(oneloop.KindTurnEnd) + " " + words(oneloop.KindDiscard) + " " + words(oneloop.KindRetry) + " " + words(oneloop.KindQuestion) + " " +
	words(oneloop.KindAnswer) + " " + words(oneloop.KindDenied) + " " + words(oneloop.KindSpend) + " " + words(oneloop.KindCompacted) + " " + words(oneloop.KindLimit) + " " +
	words(oneloop.KindNotice) + " " + words(oneloop.KindBoundary) + " " + words(oneloop.KindChildStart) + " " + words(oneloop.KindChildEnd)

// parseOurs reads a line that is as line gives it, without
// looking at its data again.
func parseOurs(line []byte) (e entry, ok bool) {
	rest, ok1 := bytes.CutPrefix(line, []byte(`{"n":`))
	number, rest, ok2 := bytes.Cut(rest, []byte(`,"t":"`))
	at, rest, ok3 := bytes.Cut(rest, []byte(`","k":"`))
	kind, rest, ok4 := bytes.Cut(rest, []byte(`","d":`))
	rest = bytes.TrimRight(rest, " \t\r\n")
	if !ok1 || !ok2 || !ok3 || !ok4 || len(rest) < 3 || rest[0] != '{' {
		return e, false
	}
	var err error
	if e.n, err = strconv.ParseInt(string(number), 10, 64); err != nil || e.n < 1 {
		return e, false
	}
	if e.at, err = time.Parse(time.RFC3339Nano, string(at)); err != nil {
		return e, false
	}
	e.kind, e.data = string(kind), json.RawMessage(rest[:len(rest)-1])
	return e, true
}

// encode gives v as JSON that can be read: without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// appendHead appends h as the entry has it. What a new conversation begins with
// is written by hand because it is in the way of the first request: encoding/json
// would first look at each type.
func appendHead(dst []byte, h Head) ([]byte, error) {
	if h.Parent != nil || h.Child != nil || h.Series != "" {
		text, err := encode(h)
		return append(dst, text...), err
	}
	dst = strconv.AppendInt(append(dst, `{"v":`...), int64(h.Version), 10)
	dst = rawjson.AppendString(append(dst, `,"id":`...), h.ID)
	dst = rawjson.AppendString(append(dst, `,"dir":`...), h.Dir)
	if h.Program != "" {
		dst = rawjson.AppendString(append(dst, `,"program":`...), h.Program)
	}
	if h.User != "" {
		dst = rawjson.AppendString(append(dst, `,"user":`...), h.User)
	}
	return append(dst, '}'), nil
}

// appendSetup appends s as the entry has it, by hand as well: encoding/json
// would also read the schemas of all tools anew.
func appendSetup(dst []byte, s Setup) ([]byte, error) {
	var err error
	dst = append(rawjson.AppendString(append(dst, `{"model":`...), s.Model), `,"params":{"max_tokens":`...)
	dst = strconv.AppendInt(dst, int64(s.Params.MaxTokens), 10)
	dst = rawjson.AppendString(append(dst, `,"effort":`...), s.Params.Effort)
	dst = append(rawjson.AppendString(append(dst, `,"cache_ttl":`...), s.Params.CacheTTL), `},"system":[`...)
	for i, b := range s.System {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = oneloop.AppendBlock(dst, b); err != nil {
			return dst, fmt.Errorf("encode the system prompt: %w", err)
		}
	}
	dst = append(dst, `],"tools":[`...)
	for i, d := range s.Tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(append(dst, `{"name":`...), d.Name)
		dst = rawjson.AppendString(append(dst, `,"description":`...), d.Description)
		for _, raw := range []struct {
			name string
			json []byte
		}{{`,"schema":`, d.Schema}, {`,"raw":`, d.Raw}} {
			if len(raw.json) == 0 {
				continue
			}
			if !json.Valid(raw.json) {
				return dst, fmt.Errorf("encode tool %s: its definition is no JSON", d.Name)
			}
			dst = append(append(dst, raw.name...), raw.json...)
		}
		dst = append(dst, '}')
	}
	return oneLine(append(dst, "]}"...)), nil
}

func decodeSetup(data []byte) (Setup, error) {
	var read struct {
		Model  string            `json:"model"`
		Params oneloop.Params    `json:"params"`
		System []json.RawMessage `json:"system"`
		Tools  []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"schema"`
			Raw         json.RawMessage `json:"raw"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return Setup{}, err
	}
	s := Setup{Model: read.Model, Params: read.Params}
	for _, raw := range read.System {
		b, err := oneloop.DecodeBlock(raw)
		if err != nil {
			return s, fmt.Errorf("read the system prompt: %w", err)
		}
		if err := soundBlock(b); err != nil {
			return s, fmt.Errorf("read the system prompt: %w", err)
		}
		s.System = append(s.System, b)
	}
	for _, d := range read.Tools {
		s.Tools = append(s.Tools, oneloop.ToolDef(d))
	}
	return s, nil
}

// intent says that a call is about to run whose effect must not come twice.
type intent struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
}

// printed is a piece of what a call printed.
type printed struct {
	Call string `json:"call"`
	Text string `json:"text"`
	More bool   `json:"more,omitempty"` // what comes after it is not kept
}

// rewound says where the conversation goes on from.
type rewound struct {
	To int64 `json:"to"` // the last entry that is part of it; 0: none is
}

// compacted puts a summary in the place of what came before.
type compacted struct {
	Summary *oneloop.Message `json:"summary"`
	Also    []int64          `json:"also,omitempty"`   // entries before From that are kept behind it
	From    int64            `json:"from"`             // the first entry of those that are all kept; 0: none is
	Strip   bool             `json:"strip,omitempty"`  // reasoning in what is kept is left out
	Before  int64            `json:"before,omitempty"` // tokens in the window before it
}

// redacted has a block sent otherwise than it is kept.
type redacted struct {
	At    int64           `json:"at"`             // the entry of its message
	Block int             `json:"block"`          // its index there
	Inner int             `json:"inner"`          // its index in a tool result; -1: the block itself
	With  json.RawMessage `json:"with,omitempty"` // the block instead; none: it is left out
	Why   string          `json:"why,omitempty"`
}

// queued is all that waits in an inbox.
type queued struct {
	Items []queuedItem `json:"items"`
}

type queuedItem struct {
	When   When              `json:"when,omitempty"`
	Blocks []json.RawMessage `json:"blocks"`
}

// Info is what a list of sessions shows of one.
type Info struct {
	Title string  `json:"title,omitempty"` // how the first prompt begins
	Name  string  `json:"name,omitempty"`  // given by the user
	Turns int     `json:"turns,omitempty"`
	Cost  float64 `json:"cost_usd,omitempty"`
	Known bool    `json:"cost_known,omitempty"` // all of it has a price
	Model string  `json:"model,omitempty"`
}
