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
	return s.append(nil), s.check, nil
}

// Decode reads input.
var Decode = decode
