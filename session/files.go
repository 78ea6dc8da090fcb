package session

import "strings"

// FilesEnd is how the name of a [FilesDir] ends.
const FilesEnd = ".files"

// FilesDir is the folder beside the log at path that holds what files were
// before its session changed them; whoever changes them makes it.
// [Store.Remove] removes it too. Empty for a log that is in memory.
func FilesDir(path string) string {
	if path == "" {
		return ""
	}
	return strings.TrimSuffix(path, extension) + FilesEnd
}

// RecordingPath is the file beside the log at path that holds what the API
// answered, byte for byte, where that was asked for; whoever records makes it.
// [Store.Remove] removes it too. Empty for a log that is in memory.
func RecordingPath(path string) string {
	if path == "" {
		return ""
	}
	return strings.TrimSuffix(path, extension) + ".stream"
}
