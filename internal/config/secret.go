package config

import (
	"encoding/json"
	"fmt"
	"io"
)

// Secret is a credential. However it is printed, it shows only whether it is
// there.
type Secret struct{ text string }

// NewSecret returns a secret that holds text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the credential itself.
func (s Secret) Reveal() string { return s.text }

// Set reports whether there is one.
func (s Secret) Set() bool { return s.text != "" }

func (s Secret) String() string {
	if s.Set() {
		return "(set)"
	}
	return "(not set)"
}

// Format keeps every verb of package fmt, %#v too, from reaching the text.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
