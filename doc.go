// Package oneloop is an agent in one loop: ask the model, run the tools it
// asks for, hand back the results, until it stops asking.
//
// [Run] is that loop. It has three collaborators and one sink:
//
//   - a [Model] turns a request into one message;
//   - [Tools] answer the calls in that message (a [Toolbox] does it for
//     ordinary [Tool] values);
//   - a [Transcript] says what the model sees next and keeps what was said
//     (a [History] keeps it in memory);
//   - emit receives an [Event] for everything that happens.
//
// The loop never changes. Every other mechanism (retry, permission, sandbox,
// sessions, compaction, subagents) wraps one of the three or listens to emit.
//
// Messages keep the provider's own bytes: every block embeds [Wire], and what
// came from an API goes back to it unchanged, so that caches hit, signed
// reasoning stays valid and block types unknown to this package survive.
//
// Contracts that hold for all of it:
//
//   - every call a model makes is answered once, in order, in one message;
//   - emit may be called from several goroutines, must return quickly, and
//     must not be called after the function that got it has returned;
//   - a cancelled context ends a turn with an answer to every call that says
//     what is known to have happened.
//
// This package imports the standard library only and promises to stay small.
// It confines nothing: a tool does what its function does. Confinement is the
// business of packages workspace and policy.
package oneloop
