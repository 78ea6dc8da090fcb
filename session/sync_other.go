//go:build !linux

package session

func datasync(f disk) error { return f.Sync() }
