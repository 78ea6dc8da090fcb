package crew_test

import (
	"context"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"oneloop/team/crew"
	"oneloop/team/mail"
)

// TestAllSeeTheSameState has several processes ask, answer, leave and let time pass in
// any order, against what the rules say.
func TestAllSeeTheSameState(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp("", "crew")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		k := newClock()
		begin := func() *crew.Crew {
			c, err := crew.Open(dir, crew.Options{Now: k.now, Expiry: time.Minute, Mail: mail.Limits{Waiting: -1, PerMinute: -1, PerHour: -1, Sends: -1}})
			if err != nil {
				r.Fatal(err)
			}
			return c
		}
		crews := []*crew.Crew{begin(), begin()}
		names := []string{"a", "b", "c"}
		seats := map[string]*crew.Seat{}
		defer func() {
			for _, s := range seats {
				s.Leave(context.Background())
			}
			for _, c := range crews {
				c.Close()
			}
		}()
		type known struct {
			from, to string
			kind     crew.Kind
			until    time.Time
			status   crew.Status
		}
		want := map[string]*known{}
		var ids []string
		which := func(r *rapid.T) *crew.Crew { return rapid.SampledFrom(crews).Draw(r, "process") }
		name := func(r *rapid.T, label string) string { return rapid.SampledFrom(names).Draw(r, label) }
		kind := func(r *rapid.T) crew.Kind {
			return rapid.SampledFrom([]crew.Kind{crew.Shutdown, crew.Plan}).Draw(r, "kind")
		}
		expire := func() {
			for _, q := range want {
				if q.status == crew.Pending && !k.now().Before(q.until) {
					q.status = crew.Expired
				}
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"join": func(r *rapid.T) {
				n := name(r, "name")
				s, err := which(r).Join(r.Context(), crew.Member{Name: n})
				if (err == nil) != (seats[n] == nil) {
					r.Fatalf("%s, there before: %v: %v", n, seats[n] != nil, err)
				}
				if err == nil {
					seats[n] = s
				}
			},
			"leave": func(r *rapid.T) {
				n := name(r, "name")
				if seats[n] == nil {
					return
				}
				expire()
				if err := seats[n].Leave(r.Context()); err != nil {
					r.Fatal(err)
				}
				delete(seats, n)
				for _, q := range want {
					if q.to == n && q.status == crew.Pending {
						q.status = crew.Left
					}
				}
			},
			"ask": func(r *rapid.T) {
				expire()
				from, to, kind := name(r, "from"), name(r, "to"), kind(r)
				ok := from != to && seats[to] != nil
				for _, q := range want {
					ok = ok && !(q.from == from && q.to == to && q.kind == kind && q.status == crew.Pending)
				}
				got, err := which(r).Ask(r.Context(), crew.Request{From: from, To: to, Kind: kind, Text: "x"})
				if (err == nil) != ok {
					r.Fatalf("%s asks %s: %v, want %v", from, to, err, ok)
				}
				if err == nil {
					ids = append(ids, got.ID)
					want[got.ID] = &known{from, to, kind, got.Until, crew.Pending}
				}
			},
			"answer": func(r *rapid.T) {
				if len(ids) == 0 {
					return
				}
				expire()
				id, from, kind := rapid.SampledFrom(ids).Draw(r, "id"), name(r, "from"), kind(r)
				status := rapid.SampledFrom([]crew.Status{crew.Approved, crew.Rejected}).Draw(r, "status")
				q := want[id]
				ok := q.to == from && q.kind == kind && q.status == crew.Pending
				if _, err := which(r).Answer(r.Context(), from, id, kind, status, ""); (err == nil) != ok {
					r.Fatalf("%s answers %+v: %v", from, q, err)
				}
				if ok {
					q.status = status
				}
			},
			"withdraw": func(r *rapid.T) {
				if len(ids) == 0 {
					return
				}
				expire()
				id, from := rapid.SampledFrom(ids).Draw(r, "id"), name(r, "from")
				q := want[id]
				if err := which(r).Withdraw(r.Context(), id, from); (err == nil) != (q.from == from) {
					r.Fatalf("%s withdraws %+v: %v", from, q, err)
				}
				if q.from == from && q.status == crew.Pending {
					q.status = crew.Withdrawn
				}
			},
			"time": func(r *rapid.T) {
				k.pass(time.Duration(rapid.IntRange(1, 40).Draw(r, "seconds")) * time.Second)
			},
			"new process": func(r *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(r, "which")
				for n, s := range seats { // those of both, for simplicity
					expire()
					if err := s.Leave(r.Context()); err != nil {
						r.Fatal(err)
					}
					delete(seats, n)
					for _, q := range want {
						if q.to == n && q.status == crew.Pending {
							q.status = crew.Left
						}
					}
				}
				crews[i].Close()
				crews[i] = begin()
			},
			"": func(r *rapid.T) {
				expire()
				for _, c := range crews {
					list, err := c.Requests(context.Background())
					if err != nil || len(list) != len(want) {
						r.Fatalf("%d requests, want %d (%v)", len(list), len(want), err)
					}
					for _, q := range list {
						if q.Status != want[q.ID].status {
							r.Fatalf("%s is %s, want %+v", q.ID, q.Status, want[q.ID])
						}
					}
				}
			},
		})
	})
}
