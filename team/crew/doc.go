// Package crew is who works on a project together, and what they formally ask of
// each other.
//
// A [Crew] is the file team.jsonl in the folder that the agents of a project
// share. Each agent takes a [Seat] under its name, says what it is doing, and leaves
// it. A name has one seat at a time. Others know when an agent is gone, also when
// its process was killed: the kernel lets go of what it held.
//
// # Requests
//
// What must have an answer is a [Request], not a message: that an agent shuts down,
// that a plan is approved. It has one state at any time,
//
//	pending → approved | rejected   by the one it was asked of, once
//	        → withdrawn             by the one who asked
//	        → expired               when its time is over
//	        → gone                  when the one it was asked of is not there any more
//
// for all processes the same, and after a crash too. So whoever waits for an answer
// ([Crew.Wait]) gets one. An answer of the wrong kind, a second or late one, and one of
// somebody else is refused with words.
//
// # Tools
//
// [Tools] are those by which a model writes to the others: SendMessage and ListAgents,
// and CheckInbox for lessons in which one looks. Who it writes as is set by the program.
package crew
