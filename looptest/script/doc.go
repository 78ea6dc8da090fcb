// Package script is a Messages API on the loopback interface that plays
// scripted replies and is as strict as the real one.
//
//	s := script.New(
//		script.Say(script.Text("Let me look."), script.Tool("t1", "Bash", `{"command":"ls"}`)),
//		script.Say(script.Text("Two files.")),
//	)
//	if err := s.Start(); err != nil { … }
//	defer s.Close()
//	// point a client at s.URL(), then look at s.Requests() and s.Check()
//
// Replies are streamed as the real API streams them and are played in the
// order in which requests arrive, unless [Server.Route] gives a conversation
// a list of its own. A [Reply] has settings for everything that goes wrong on
// the way: errors, cuts, silence, odd framing, compression.
//
// Every request passes a gate first. One that the real API would refuse, and
// some that only careless clients send, gets an error answer in the API's
// form, plays no reply and is listed by [Server.Breaches]. A request for which
// nothing is scripted gets status 500 and is listed by [Server.Failures].
//
// The package needs nothing but the standard library and does not import
// testing, so that a program can show itself at work against it; tests use it
// through package looptest.
package script
