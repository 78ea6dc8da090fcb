//go:build amd64 || arm64

package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// obeyed gives the names in a folder that are protected where they exist, but
// for those that always are.
func (g *guards) obeyed(root string) (names []string) {
	entries, _ := os.ReadDir(root) // a folder that is closed to us is to commands
	for _, e := range entries {
		if guardedIfThere(fold(e.Name())) && !slices.Contains(g.names[root], e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// guardObeyed protects them in the root that is walked.
func (t *taking) guardObeyed() error {
	for _, name := range t.obeyed(t.root) {
		t.there = append(t.there, t.path(name))
		if err := t.guard(name, false, makeSocket); err != nil {
			return err
		}
	}
	return nil
}

// fresh names those that came while a command ran.
func (t *taking) fresh() (notes []string) {
	for _, root := range t.roots {
		if root == t.guards.git {
			continue
		}
		for _, name := range t.obeyed(root) {
			if path := filepath.Join(root, name); !slices.Contains(t.there, path) {
				notes = append(notes, fmt.Sprintf("%s is new, and editors or agents run or obey what is in it. Say so to the user before one is used there", path))
			}
		}
	}
	return notes
}
