//go:build !linux

package workspace_test

func execBlocked() {}
