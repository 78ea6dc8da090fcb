package config

import (
	"errors"
	"os"
)

// writable tries, for there is nothing to ask that knows all reasons.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
