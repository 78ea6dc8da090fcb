//go:build !linux

package disk

// Sync waits until what was written to an open file is on the disk, with its size.
func Sync(f Syncer) error { return f.Sync() }
