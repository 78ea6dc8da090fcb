package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// variable is one NAME=value of a file.
type variable struct{ name, value string }

// parseEnv reads a file of NAME=value lines: blank lines, # comments, an
// "export" before the name, single quotes (everything as it stands), double
// quotes (with \n, \r, \t, \", \\, \$), both over several lines, and a comment
// after white space. Nothing is expanded: a $ in a key is a $.
//
// Its errors name the line and never show what is in it.
func parseEnv(data []byte) ([]variable, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("is not UTF-8 text")
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	var vars []variable
	for at := 1; text != ""; {
		line, rest, _ := strings.Cut(text, "\n")
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			text = rest
			at++
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if after, cut := strings.CutPrefix(name, "export "); cut {
			name = strings.TrimSpace(after)
		}
		if !ok || !isName(name) {
			return nil, fmt.Errorf("has no NAME=value in line %d", at)
		}
		value, rest, err := envValue(text[strings.IndexByte(text, '=')+1:])
		if err != nil {
			return nil, fmt.Errorf("%w in line %d", err, at)
		}
		vars = append(vars, variable{name, value})
		at += strings.Count(text[:len(text)-len(rest)], "\n")
		text = rest
	}
	return vars, nil
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r == '.' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// envValue reads what follows the = and returns what follows its line.
func envValue(text string) (value, rest string, err error) {
	text = strings.TrimLeft(text, " \t")
	if text == "" || (text[0] != '"' && text[0] != '\'') {
		line, rest, _ := strings.Cut(text, "\n")
		if strings.HasPrefix(line, "#") {
			line = ""
		}
		if i := strings.Index(line, " #"); i >= 0 {
			line = line[:i]
		}
		if i := strings.Index(line, "\t#"); i >= 0 {
			line = line[:i]
		}
		return strings.TrimSpace(line), rest, nil
	}
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		c := text[i]
		if c == quote {
			after, rest, _ := strings.Cut(text[i+1:], "\n")
			after = strings.TrimSpace(after)
			if after != "" && after[0] != '#' {
				return "", "", fmt.Errorf("has something after the closing quote")
			}
			return b.String(), rest, nil
		}
		if c == '\\' && quote == '"' && i+1 < len(text) {
			i++
			c = text[i]
			switch c {
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			case '"', '\\', '$', '\'':
			default:
				b.WriteByte('\\')
			}
		}
		b.WriteByte(c)
	}
	return "", "", fmt.Errorf("has a quote that is not closed, begun")
}
