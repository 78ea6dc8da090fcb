//go:build !linux || !(amd64 || arm64)

package workspace_test

// jobs are what the test binary does under a name.
var jobs map[string]func() error
