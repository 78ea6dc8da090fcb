package mail_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"oneloop"
	"oneloop/team/mail"
)

// session is a reader with a log that survives its crashes.
type session struct {
	name  string
	post  *mail.Post
	box   *mail.Mailbox
	log   []*oneloop.Message // what is safe
	taken []mail.Message     // not in the log yet
	acks  []mail.Message     // in the log, and not acknowledged
}

// TestEveryMessageIsReadOnceInTheOrderOfItsSender has several processes send,
// read, crash and begin anew in any order.
func TestEveryMessageIsReadOnceInTheOrderOfItsSender(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp("", "mail")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		c := newClock()
		begin := func() *mail.Post {
			p, err := mail.Open(dir, mail.Options{Roster: mail.Names{"a", "b", "c"}, Now: c.now, Limits: mail.Limits{Waiting: -1, PerMinute: -1, PerHour: -1, Sends: -1}})
			if err != nil {
				r.Fatal(err)
			}
			return p
		}
		senders := []*mail.Post{begin(), begin()}
		readers := []*session{{name: "b"}, {name: "c"}}
		open := func(s *session) {
			s.post = begin()
			s.box, err = s.post.Mailbox(s.name, mail.Reader{Seen: mail.Seen(s.log)})
			if err != nil {
				r.Fatal(err)
			}
			s.taken, s.acks = nil, nil
		}
		for _, s := range readers {
			open(s)
		}
		defer func() {
			for _, p := range senders {
				p.Close()
			}
			for _, s := range readers {
				s.box.Close()
				s.post.Close()
			}
		}()
		sent := map[string][]string{} // by sender>reader
		who := func(r *rapid.T) *session { return rapid.SampledFrom(readers).Draw(r, "reader") }
		n := 0
		step := map[string]func(*rapid.T){
			"send": func(r *rapid.T) {
				p := rapid.SampledFrom(senders).Draw(r, "process")
				from := rapid.SampledFrom([]string{"a", "x"}).Draw(r, "from")
				to := who(r).name
				for range rapid.SampledFrom([]int{1, 1, 3, 40}).Draw(r, "many") {
					n++
					if _, err := p.Send(r.Context(), to, mail.Message{From: from, Text: fmt.Sprint(n)}); err != nil {
						r.Fatal(err)
					}
					sent[from+">"+to] = append(sent[from+">"+to], fmt.Sprint(n))
				}
			},
			"broadcast": func(r *rapid.T) {
				n++
				list, err := rapid.SampledFrom(senders).Draw(r, "process").Broadcast(r.Context(), mail.Message{From: "a", Text: fmt.Sprint(n)})
				if err != nil || len(list) != 2 {
					r.Fatal(list, err)
				}
				for _, d := range list {
					sent["a>"+d.Message.To] = append(sent["a>"+d.Message.To], fmt.Sprint(n))
				}
			},
			"take": func(r *rapid.T) {
				s := who(r)
				list, err := s.box.Take()
				if err != nil {
					r.Fatal(err)
				}
				s.taken = append(s.taken, list...)
			},
			"log": func(r *rapid.T) {
				s := who(r)
				k := rapid.IntRange(0, len(s.taken)).Draw(r, "many")
				for _, m := range s.taken[:k] {
					s.log = append(s.log, oneloop.NewMessage(oneloop.User, m.Block()))
				}
				s.acks = append(s.acks, s.taken[:k]...)
				s.taken = s.taken[k:]
			},
			"ack": func(r *rapid.T) {
				s := who(r)
				if err := s.box.Ack(r.Context(), s.acks...); err != nil {
					r.Fatal(err)
				}
				s.acks = nil
			},
			"crash": func(r *rapid.T) {
				s := who(r)
				s.box.Close()
				s.post.Close()
				open(s)
			},
			"new process": func(r *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(r, "which")
				senders[i].Close()
				senders[i] = begin()
			},
			"clock": func(r *rapid.T) {
				c.pass(time.Duration(rapid.IntRange(-5000, 5000).Draw(r, "ms")) * time.Millisecond)
			},
		}
		r.Repeat(step)
		for _, s := range readers {
			list, err := s.box.Take()
			if err != nil {
				r.Fatal(err)
			}
			for _, m := range append(s.taken, list...) {
				s.log = append(s.log, oneloop.NewMessage(oneloop.User, m.Block()))
			}
			got := map[string][]string{}
			for _, entry := range s.log {
				m, ok := mail.Parse(entry.Text())
				if !ok {
					r.Fatalf("%q", entry.Text())
				}
				got[m.From+">"+s.name] = append(got[m.From+">"+s.name], m.Text)
			}
			want := maps.Clone(sent)
			maps.DeleteFunc(want, func(key string, _ []string) bool { return !strings.HasSuffix(key, ">"+s.name) })
			if !maps.EqualFunc(got, want, slices.Equal) {
				r.Fatalf("%s read %v, sent was %v", s.name, got, want)
			}
		}
	})
}
