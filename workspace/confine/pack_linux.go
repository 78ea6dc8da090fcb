//go:build amd64 || arm64

package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// What the parts of this program tell each other is packed with every byte of
// a text as it is: a path is bytes, and JSON would replace those that are no
// UTF-8. Both sides are the same program, so that nothing says what comes.

// pack packs structs of texts, numbers, truths and lists of those.
func pack(v any) []byte { return appendPacked(nil, reflect.ValueOf(v)) }

func appendPacked(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendPacked(b, v.Field(i))
		}
		return b
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for i := range v.Len() {
			b = appendPacked(b, v.Index(i))
		}
		return b
	case reflect.String:
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...)
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint8:
		return append(b, byte(v.Uint()))
	}
	panic(fmt.Sprintf("confine: a %s cannot be packed", v.Type()))
}

var errCut = errors.New("the message is cut")

// unpack is the way back, into what to points at.
func unpack(b []byte, to any) error {
	rest, err := unpackInto(b, reflect.ValueOf(to).Elem())
	if err == nil && len(rest) > 0 {
		return errors.New("the message is too long")
	}
	return err
}

func unpackInto(b []byte, v reflect.Value) (rest []byte, err error) {
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			b, err = unpackInto(b, v.Field(i))
		}
		return b, err
	case reflect.Int, reflect.Int64:
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, errCut
		}
		v.SetInt(n)
		return b[size:], nil
	case reflect.Bool, reflect.Uint8:
		if len(b) == 0 {
			return nil, errCut
		}
		if v.Kind() == reflect.Bool {
			v.SetBool(b[0] != 0)
		} else {
			v.SetUint(uint64(b[0]))
		}
		return b[1:], nil
	}
	length, size := binary.Uvarint(b)
	if size <= 0 || length > uint64(len(b)-size) { // everything takes a byte at least
		return nil, errCut
	}
	b = b[size:]
	switch n := int(length); v.Kind() {
	case reflect.String:
		v.SetString(string(b[:n]))
		return b[n:], nil
	case reflect.Slice:
		if n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := 0; i < n && err == nil; i++ {
			b, err = unpackInto(b, v.Index(i))
		}
		return b, err
	}
	panic(fmt.Sprintf("confine: a %s cannot be packed", v.Type()))
}
