package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// decode reads input into in, a pointer. To JSON Schema 1000.0 and 1e3 are
// integers, to encoding/json they are none: they are written plainly when
// something asks for an integer.
func decode(input json.RawMessage, in any) error {
	err := json.Unmarshal(input, in)
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if ok && integer(e.Type) && strings.ContainsAny(e.Value, ".eE") {
		err = json.Unmarshal(plain(input), in)
		e, ok = errors.AsType[*json.UnmarshalTypeError](err)
	}
	if ok {
		return &problem{e.Field, mismatch(e)}
	}
	return err
}

// mismatch says in the words of JSON what encoding/json says in those of Go.
func mismatch(e *json.UnmarshalTypeError) string {
	got, number, _ := strings.Cut(e.Value, " ")
	s, err := infer(e.Type, nil)
	if err != nil {
		return "it cannot be " + article(got)
	}
	if number != "" {
		if text := s.number(number); text != "" {
			return text
		}
	}
	return fmt.Sprintf("want %s, got %s", s.wanted(), article(got))
}

// plain writes the numbers of valid JSON that are integers, but written with a
// point or an exponent, as integers.
func plain(input []byte) []byte {
	out := make([]byte, 0, len(input))
	for i := 0; i < len(input); {
		from := i
		switch c := input[i]; {
		case c == '"':
			for i++; input[i] != '"'; i++ {
				if input[i] == '\\' {
					i++
				}
			}
			i++
		case c == '-' || '0' <= c && c <= '9':
			for i < len(input) && strings.IndexByte("+-.eE0123456789", input[i]) >= 0 {
				i++
			}
			out = append(out, plainNumber(string(input[from:i]))...)
			continue
		default:
			i++
		}
		out = append(out, input[from:i]...)
	}
	return out
}

// longestInteger is the number of digits that every integer fits in.
const longestInteger = 20

// plainNumber is a number without point and exponent, or as it was when it is
// no integer or a longer one than any type holds.
func plainNumber(s string) string {
	digits, exponent := s, 0
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(s[at+1:]); err != nil {
			return s
		}
		digits = s[:at]
	}
	minus := strings.HasPrefix(digits, "-")
	whole, part, _ := strings.Cut(strings.TrimPrefix(digits, "-"), ".")
	part = strings.TrimRight(part, "0")
	if exponent < -len(whole) || exponent > longestInteger || len(part) > max(exponent, 0) {
		return s
	}
	digits = whole + part
	if n := exponent - len(part); n >= 0 {
		digits += strings.Repeat("0", n)
	} else if cut := len(digits) + n; strings.Trim(digits[cut:], "0") == "" {
		digits = digits[:cut]
	} else {
		return s
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		digits = "0"
	}
	if len(digits) > longestInteger {
		return s
	}
	if minus {
		return "-" + digits
	}
	return digits
}
