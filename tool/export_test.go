package tool

import (
	"encoding/json"
	"reflect"
)

// BashInput is the input of Bash.
type BashInput = bashInput

// Infer gives the schema of a type and the check of its input.
func Infer(t reflect.Type) (text []byte, check func(json.RawMessage) error, err error) {
	s, err := infer(t, nil)
	if err != nil {
		return nil, nil, err
	}
	text, err = json.Marshal(s)
	return text, s.check, err
}

// Decode reads input.
var Decode = decode
