package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"oneloop"
	"oneloop/policy"
)

// heard keeps events, of several goroutines.
type heard struct {
	mu   sync.Mutex
	list []oneloop.Event
}

func (h *heard) hear(e oneloop.Event) { h.mu.Lock(); h.list = append(h.list, e); h.mu.Unlock() }

func (h *heard) denied() (list []oneloop.Denied) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.list {
		if d, ok := e.(oneloop.Denied); ok {
			list = append(list, d)
		}
	}
	return list
}

func domains(t *testing.T, texts ...string) (list []policy.Domain) {
	t.Helper()
	for _, text := range texts {
		d, err := policy.ParseDomain(text, "settings.json")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

func hostOptions(t *testing.T, deny, ask, allow []string) policy.GateOptions {
	t.Helper()
	rules, err := policy.NewRules(policy.RuleOptions{Dir: "/home/ada/app"}, policy.File{Path: "user", Deny: deny, Ask: ask, Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	return policy.GateOptions{Dir: "/home/ada/app", Home: "/home/ada", Rules: rules}
}

// fetching is a command that wants something of a host.
var fetching = &oneloop.ToolUse{ID: "1", Name: "Bash", Input: json.RawMessage(`{"command":"curl x"}`)}

func TestAHostIsDecidedAboutByTheStrictestThatNamesIt(t *testing.T) {
	o := hostOptions(t,
		[]string{"WebFetch(domain:bad.example.org)", "WebFetch(domain:*.evil.example)"},
		[]string{"WebFetch(domain:ask.example.org)"},
		[]string{"WebFetch", "WebFetch(domain:*.example.org)", "WebFetch(domain:a.evil.example)", "WebFetch(domain:no.example.net)"})
	n := policy.Network{
		Allowed: domains(t, "example.net", "*.example.net", "ask.example.org", "localhost:4873", "port.example.com:8443", "[2001:db8::1]:80"),
		Denied:  domains(t, "no.example.net", "*.no.example.net"),
	}
	for at, want := range map[string]string{
		"x.example.org:443": "allow", "example.org:443": "nobody", "bad.example.org:443": "deny", "ask.example.org:80": "nobody",
		"a.evil.example:443": "deny", "evil.example:443": "nobody",
		"example.net:22": "allow", "x.example.net:443": "allow", "no.example.net:443": "deny", "y.no.example.net:443": "deny", "xexample.net:443": "nobody",
		"localhost:4873": "allow", "localhost:4874": "nobody", "port.example.com:8443": "allow", "port.example.com:443": "nobody",
		"[2001:db8::1]:80": "allow", "93.184.216.34:443": "nobody",
	} {
		host, port := split(t, at)
		var h heard
		err := policy.NewHosts(o, n).For(t.Context(), fetching, h.hear).Allow(t.Context(), host, port)
		got := "allow"
		if d := h.denied(); len(d) == 1 {
			got = map[bool]string{true: "nobody", false: "deny"}[d[0].Nobody]
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), host) || d[0].Call != fetching {
				t.Errorf("%s: %v, %+v", at, err, d[0])
			}
		} else if err != nil || len(d) > 1 {
			t.Errorf("%s: %v, told %+v", at, err, d)
		}
		if got != want {
			t.Errorf("%s: %s, want %s (%v)", at, got, want, err)
		}
	}
}

func split(t *testing.T, at string) (string, int) {
	t.Helper()
	d := domains(t, at)
	n := policy.Network{Allowed: d}
	if len(n.Near()) != 1 || n.Near()[0] != at {
		t.Fatalf("%s is near as %q", at, n.Near())
	}
	i := strings.LastIndexByte(at, ':')
	port := 0
	for _, c := range at[i+1:] {
		port = port*10 + int(c-'0')
	}
	return strings.Trim(at[:i], "[]"), port
}

func TestTheHostsThatAreAllowedAreListed(t *testing.T) {
	o := hostOptions(t, []string{"WebFetch(domain:denied.org)"}, nil, []string{"WebFetch( domain:rule.org )", "WebFetch", "WebFetch(nothing)", "Read(./x)"})
	got := policy.NewHosts(o, policy.Network{Allowed: domains(t, "*.settings.org:443")}).Allowed()
	if want := []string{"*.settings.org:443", "rule.org"}; !slices.Equal(got, want) {
		t.Errorf("the hosts are %q, want %q", got, want)
	}
	if got := (*policy.Hosts)(nil).Allowed(); got != nil {
		t.Errorf("without a network they are %q", got)
	}
}

func TestADeniedHostSaysWhichRuleWouldAllowIt(t *testing.T) {
	var h heard
	err := policy.NewHosts(hostOptions(t, nil, nil, nil), policy.Network{}).For(t.Context(), fetching, h.hear).Allow(t.Context(), "x.example.org", 443)
	if err == nil || !strings.Contains(err.Error(), "nobody is there") || !strings.Contains(err.Error(), "permissions.allow of the settings: WebFetch(domain:x.example.org).") {
		t.Errorf("it says %v", err)
	}
	if d := h.denied(); len(d) != 1 || d[0].Rule != "WebFetch(domain:x.example.org)" {
		t.Errorf("told %+v", d)
	}
}

func TestTheModeDecidesWhatNoRuleDenies(t *testing.T) {
	p := &person{}
	o := hostOptions(t, []string{"WebFetch(domain:bad.example.org)"}, []string{"WebFetch(domain:ask.example.org)"}, nil)
	o.Ask = p.ask
	for _, c := range []struct {
		mode   policy.Mode
		host   string
		strict string
		text   string // of the error; empty: none
	}{
		{policy.Bypass, "x.example.org", "", ""},
		{policy.Bypass, "ask.example.org", "", ""},
		{policy.Bypass, "bad.example.org", "", "No permission mode"},
		{policy.DontAsk, "x.example.org", "", "dontAsk"},
		{policy.Default, "x.example.org", "s.json", "strictAllowlist in s.json"},
		{policy.AcceptEdits, "x.example.org", "s.json", "strictAllowlist in s.json"},
	} {
		o.Mode = c.mode
		err := policy.NewHosts(o, policy.Network{Strict: c.strict}).For(t.Context(), fetching, new(heard).hear).Allow(t.Context(), c.host, 443)
		if (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if len(p.asked) > 0 {
		t.Errorf("asked %+v", p.asked)
	}
}

func TestOneAnswerAboutAHostIsForOneCommand(t *testing.T) {
	p := &person{answers: []oneloop.Answer{{Allow: true}, {Reason: "not today"}, {Allow: true, Always: true}}}
	o := hostOptions(t, nil, nil, nil)
	var kept []string
	o.Ask, o.Keep = p.ask, &policy.Keep{File: "local.json", Add: func(rule string) error { kept = append(kept, rule); return nil }}
	hosts := policy.NewHosts(o, policy.Network{})
	for i, want := range []string{"", "not today", "", ""} {
		var h heard
		v := hosts.For(t.Context(), fetching, h.hear)
		for range 3 {
			err := v.Allow(t.Context(), "x.example.org", 443)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("command %d: %v", i, err)
			}
		}
		if n := len(h.denied()); n > 1 || (n == 1) != (want != "") {
			t.Errorf("command %d: told of %d denials", i, n)
		}
	}
	if len(p.asked) != 3 || strings.Join(kept, " ") != "WebFetch(domain:x.example.org)" {
		t.Fatalf("asked %d times, kept %q", len(p.asked), kept)
	}
	q := p.asked[0]
	if q.Kind != "host" || q.Rule != "WebFetch(domain:x.example.org)" || q.File != "local.json" || q.Call != fetching ||
		q.Detail != "x.example.org:443\ncurl x" || !strings.Contains(q.Reason, "no rule") {
		t.Errorf("the question is %+v", q)
	}
	// The rule holds for the tool too.
	if len(o.Rules.List()) != 1 {
		t.Errorf("rules: %v", o.Rules.List())
	}
}

func TestAnAskRuleOffersNoRule(t *testing.T) {
	p := &person{answers: []oneloop.Answer{{Allow: true, Always: true}}}
	o := hostOptions(t, nil, []string{"WebFetch(domain:x.example.org)"}, nil)
	o.Ask = p.ask
	if err := policy.NewHosts(o, policy.Network{}).For(t.Context(), fetching, new(heard).hear).Allow(t.Context(), "x.example.org", 443); err != nil {
		t.Error(err)
	}
	if len(p.asked) != 1 || p.asked[0].Rule != "" || len(o.Rules.List()) != 1 {
		t.Errorf("asked %+v, rules %v", p.asked, o.Rules.List())
	}
}

func TestConnectionsWaitForOneQuestionAndQuestionsForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most, asked int
		answers := make(chan oneloop.Answer)
		o := hostOptions(t, nil, nil, nil)
		o.Ask = func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
			open++
			asked++
			most = max(most, open)
			defer func() { open-- }()
			select {
			case a := <-answers:
				return a, nil
			case <-ctx.Done():
				return oneloop.Answer{}, context.Cause(ctx)
			}
		}
		ctx, end := context.WithCancel(t.Context())
		v := policy.NewHosts(o, policy.Network{}).For(ctx, fetching, new(heard).hear)
		got := make(chan error, 10)
		for range 3 {
			for _, host := range []string{"a.example.org", "b.example.org", "c.example.org"} {
				go func() { got <- v.Allow(t.Context(), host, 443) }()
			}
		}
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- v.Allow(gone, "a.example.org", 443) }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a connection that was given up: %v", err)
		}
		answers <- oneloop.Answer{Allow: true}
		answers <- oneloop.Answer{Allow: true}
		for range 6 {
			if err := <-got; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		end() // the third is open when the command ends
		for range 3 {
			if err := <-got; err == nil {
				t.Error("a host was allowed without an answer")
			}
		}
		if most != 1 || asked != 3 {
			t.Errorf("%d questions, %d at a time", asked, most)
		}
	})
}

func TestDomainsThatCannotBeReadAreRefused(t *testing.T) {
	for _, text := range []string{"", "exa mple.org", "*example.org", "a.*.org", "https://example.org", "example.org/x", "0x7f.1", "127.1", "example.org:0", "example.org:http", "example.org.", "**", "*.", "a\x00b.org"} {
		if d, err := policy.ParseDomain(text, "f"); err == nil {
			t.Errorf("%q is read as %+v", text, d)
		}
	}
	n := policy.Network{Allowed: domains(t, "example.org", "*:8080", "*.example.org:443", "127.0.0.1:80", "Localhost:1", "[::1]:2")}
	if got := strings.Join(n.Near(), " "); got != "127.0.0.1:80 localhost:1 [::1]:2" {
		t.Errorf("near: %s", got)
	}
}
