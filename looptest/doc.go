// Package looptest helps to test agents built with oneloop, and new models
// and transcripts for it.
//
//   - [Script] is a model that plays replies without a network.
//   - [Serve] starts a scripted and strict Messages API on loopback for the
//     length of a test.
//   - [Census] fails a test that leaves processes or goroutines behind.
//   - [TestModel] and [TestTranscript] check the contracts of
//     [oneloop.Model] and [oneloop.Transcript].
package looptest
