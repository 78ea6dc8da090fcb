// Package looptest helps to test agents built with oneloop, and new models,
// transcripts and workspaces for it.
//
//   - [Script] is a model that plays replies without a network.
//   - [Replay] takes a session again from its log, with tools of yours beside it.
//   - [Serve] starts a scripted and strict Messages API on loopback for the
//     length of a test; [ServeOver] does over the other APIs, which are in
//     package wires.
//   - [Census] fails a test that leaves processes or goroutines behind.
//   - [TestModel], [TestTranscript] and [TestWorkspace] check the contracts of
//     [oneloop.Model], [oneloop.Transcript] and [workspace.Workspace];
//     [TestCrossing] that a conversation goes from one model to another.
package looptest
