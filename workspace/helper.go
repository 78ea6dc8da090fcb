package workspace

import "sync/atomic"

var helperCalled atomic.Bool

// Helper prepares the program for workspaces. It is the first line of main,
// and of TestMain; without it no workspace opens. It returns at once, unless
// the program was executed again by a sandbox, whose part it then plays to the
// end. It is harmless to call again. What it does is for the whole program:
//
//   - On Linux the program becomes the reaper of orphans below it, so that a
//     process which left its group and lost its parent is still found. A
//     program that starts processes by other means inherits their orphans
//     too, which would have gone to init.
//   - Signals that were ignored or blocked where the program was started, by
//     nohup for instance, have their default meaning in commands. The program
//     itself goes on ignoring them.
//
// A process that other code of the program starts in a session of its own
// while a command runs cannot be told from one the command left, and is ended
// with it. Start such a process before, or by [Workspace.Start].
func Helper() {
	if helperCalled.Swap(true) {
		return
	}
	playPart()
	prepare()
}
