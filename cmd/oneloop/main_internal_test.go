package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
	"oneloop/internal/config"
	"oneloop/internal/tui"
)

func TestAPanicIsOneLineAndFailure(t *testing.T) {
	name := filepath.Join(t.TempDir(), "stderr")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	undone := true
	p := &program{words: tui.Messages("en"), stderr: f}
	code := p.end(func(context.Context) error {
		defer func() { undone = false }()
		panic("something of ours")
	})
	said, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if code != exitFailed || strings.Count(string(said), "\n") != 1 || !strings.Contains(string(said), "something of ours") || strings.Contains(string(said), "goroutine") {
		t.Errorf("exit code %d, %q", code, said)
	}
	if undone {
		t.Error("what was deferred was not done")
	}
}

func TestEveryErrorOfAnAPISaysWhereItWasAndWhatToDo(t *testing.T) {
	synctest.Test(t, everyErrorOfAnAPI) // the clock stands still
}

func everyErrorOfAnAPI(t *testing.T) {
	const url = "https://gateway.example/v1/messages?x=MASKED"
	refusedDial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for _, c := range []struct {
		err    oneloop.APIError
		en, zh string
	}{
		{oneloop.APIError{Class: oneloop.ErrAuth}, "The key was refused", "拒绝了密钥"},
		{oneloop.APIError{Class: oneloop.ErrBilling}, "cannot pay", "余额不足"},
		{oneloop.APIError{Class: oneloop.ErrTooLarge, Status: 413}, "no request of this size", "这么大"},
		{oneloop.APIError{Class: oneloop.ErrNetwork, Err: refusedDial}, "Nothing answered", "没有回应"},
		{oneloop.APIError{Class: oneloop.ErrNetwork, Err: &net.DNSError{}}, "Nothing answered", "没有回应"},
		{oneloop.APIError{Class: oneloop.ErrNetwork, Err: reset}, "broke before an answer", "断开"},
		{oneloop.APIError{Class: oneloop.ErrNetwork, Err: io.EOF}, "broke before an answer", "断开"},
		{oneloop.APIError{Class: oneloop.ErrNetwork, Err: &tls.CertificateVerificationError{Err: io.EOF}}, "certificate", "证书"},
		{oneloop.APIError{Class: oneloop.ErrNotFound, Status: 404}, "is not the Messages API", "不是 Messages API"},
		{oneloop.APIError{Class: oneloop.ErrNotFound, Status: 404, Type: "not_found_error"}, "There is no model some-model", "没有找到模型 some-model"},
		{oneloop.APIError{Class: oneloop.ErrNotAPI, Status: 307, Location: "https://api.example/x/v1/messages?a=MASKED"},
			"redirects to https://api.example/x,", "重定向到 https://api.example/x，"},
		{oneloop.APIError{Class: oneloop.ErrNotAPI, Status: 301}, "is not the Messages API", "不是 Messages API"},
		{oneloop.APIError{Class: oneloop.ErrInvalidRequest, Status: 405}, "is not the Messages API", "不是 Messages API"},
		{oneloop.APIError{Class: oneloop.ErrInvalidRequest, Status: 422}, "refused the request as it is", "原样重试"},
		{oneloop.APIError{Class: oneloop.ErrStreamCut, Status: 200}, "in the middle of a reply", "中途断开"},
		{oneloop.APIError{Class: oneloop.ErrStalled}, "fell silent", "没有了动静"},
		{oneloop.APIError{Class: oneloop.ErrServer, Status: 500}, "The fault lies with", "问题出在"},
		{oneloop.APIError{Class: oneloop.ErrOverloaded, Status: 529}, "is busy", "正忙"},
		{oneloop.APIError{Class: oneloop.ErrRateLimited, Status: 429, RetryAfter: 20 * time.Second}, "is busy", "正忙"},
		{oneloop.APIError{Class: oneloop.ErrRateLimited, Status: 429, RetryAfter: 7200 * time.Second},
			"until " + time.Now().Add(2*time.Hour).Format(time.DateTime), "在 " + time.Now().Add(2*time.Hour).Format(time.DateTime)},
	} {
		for lang, want := range map[string]string{"en": c.en, "zh": c.zh} {
			p := &program{words: tui.Messages(lang), settings: &config.Settings{Model: config.Model{Name: "some-model"}}}
			e := c.err
			e.URL = url
			said := p.explain(fmt.Errorf("gave up after 9 tries: %w", &e))
			if !strings.Contains(said, want) || !strings.Contains(said, "https://gateway.example") || strings.Contains(said, "%!") {
				t.Errorf("%v in %s: %s", c.err.Class, lang, said)
			}
			e.URL = ""
			if said := p.explain(&e); !strings.Contains(said, "https://api.anthropic.com") {
				t.Errorf("%v without an address: %s", c.err.Class, said)
			}
		}
	}
}

func TestEveryEndOfATurnHasANextStep(t *testing.T) {
	for _, err := range []error{
		&oneloop.LimitError{What: "turns"}, &oneloop.LimitError{What: "cost"}, &oneloop.LimitError{What: "time"}, &oneloop.LimitError{What: "repetition"},
		&oneloop.RefusedError{}, &oneloop.TruncatedError{}, &oneloop.APIError{Class: oneloop.ErrContextOverflow},
	} {
		for _, lang := range []string{"en", "zh"} {
			p := &program{words: tui.Messages(lang), settings: &config.Settings{}}
			if hint := p.hint(err); hint == "" || strings.Contains(hint, "%!") {
				t.Errorf("%T in %s: %q", err, lang, hint)
			}
		}
	}
}
