package mask_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"oneloop/internal/mask"

	"pgregory.net/rapid"
)

const secret = `sk-test/0<&>"a+b=\é-canary-0123456789`

// inside tells whether secret can be read in text by one of the ways that are
// looked for.
func inside(text, secret string) bool {
	if strings.Contains(text, secret) {
		return true
	}
	for range 3 {
		var s string
		if json.Unmarshal([]byte(`"`+text+`"`), &s) != nil {
			break
		}
		if text = s; strings.Contains(text, secret) {
			return true
		}
	}
	return false
}

func forms(secret string) map[string]string {
	j, err := json.Marshal(secret)
	if err != nil {
		panic(err)
	}
	jj, err := json.Marshal(string(j))
	if err != nil {
		panic(err)
	}
	all := map[string]string{
		"as it is": secret, "JSON": string(j), "JSON in JSON": string(jj),
		"a query": url.QueryEscape(secret), "a path": url.PathEscape(secret), "a query in lower case": strings.ToLower(url.QueryEscape(strings.ToLower(secret))),
	}
	for _, before := range []string{"", "a", "ab", "user:"} {
		for _, after := range []string{"", "\n", "xyz"} {
			text := []byte(before + secret + after)
			name := fmt.Sprintf(" of %q and %q", before, after)
			all["base64"+name] = base64.StdEncoding.EncodeToString(text)
			all["base64 for addresses"+name] = base64.URLEncoding.EncodeToString(text)
			all["base64 in a query"+name] = url.QueryEscape(base64.StdEncoding.EncodeToString(text))
		}
	}
	return all
}

// core is the part of a form that is enough to know the secret by: all but
// the three characters at its ends.
func core(form string) string { return form[4 : len(form)-6] }

func TestASecretIsHiddenInEveryForm(t *testing.T) {
	m := mask.New(secret, strings.ToLower(secret))
	for name, form := range forms(secret) {
		got := m.String("before " + form + " after")
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, mask.Text) || strings.Contains(got, core(form)) {
			t.Errorf("%s: %s becomes %s", name, form, got)
		}
		var b bytes.Buffer
		if err := m.Write(&b, []byte(form)); err != nil || b.String() != m.String(form) {
			t.Errorf("%s: written as %s, %v", name, b.String(), err)
		}
	}
}

func TestLongBase64InLinesIsHidden(t *testing.T) {
	long := strings.Repeat("sk-canary-", 12)
	for _, width := range []int{64, 76} {
		text := base64.StdEncoding.EncodeToString([]byte(long))
		var lines []string
		for len(text) > width {
			lines, text = append(lines, text[:width]), text[width:]
		}
		for _, end := range []string{"\n", `\n`, "\r\n"} {
			got := mask.New(long).String(strings.Join(append(lines, text), end))
			if strings.Contains(got, lines[0][:20]) || !strings.Contains(got, mask.Text) {
				t.Errorf("%d with %q: %s", width, end, got)
			}
		}
	}
}

func TestNothingElseIsChanged(t *testing.T) {
	m := mask.New(secret, "short", "")
	for _, text := range []string{"", "short", "a text", secret[:len(secret)-1], "[masked]"} {
		if got := m.String(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
		p := m.Pieces()
		if got := p.Next(text); text != secret[:len(secret)-1] && got+p.End() != text {
			t.Errorf("%q comes as %q", text, got)
		}
	}
	if m := mask.New("short", ""); m != nil || m.String(secret) != secret || m.Pieces().Next(secret) != secret || m.Pieces().End() != "" {
		t.Error("a mask without secrets changes something")
	}
}

func TestASecretInPiecesIsHiddenWhereverItIsCut(t *testing.T) {
	m := mask.New(secret)
	all := forms(secret)
	delete(all, "a query in lower case")
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		form := all[rapid.SampledFrom(names).Draw(t, "form")]
		text := rapid.StringMatching(`[a-zé ]{0,9}`).Draw(t, "before") + form + rapid.StringMatching(`[ .][a-z sk-]{0,9}`).Draw(t, "after")
		p := m.Pieces()
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			got.WriteString(p.Next(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(p.End())
		if got.String() != m.String(text) || strings.Contains(got.String(), core(form)) || inside(got.String(), secret) {
			t.Fatalf("%q comes as %q", text, got.String())
		}
	})
}

func TestMoreThanHalfOfASecretIsHiddenAtTheEnd(t *testing.T) {
	m := mask.New(secret)
	p := m.Pieces()
	if got := p.Next("x " + secret[:len(secret)-3]); got != "x " || p.End() != mask.Text || p.End() != "" {
		t.Errorf("shown: %q", got)
	}
	p = m.Pieces()
	if got := p.Next("x " + secret[:5]); got != "x " || p.End() != secret[:5] {
		t.Errorf("shown: %q", got)
	}
}

// Spelled in a way that is not looked for, a secret gets through, and nothing
// breaks.
func TestAttackA16OtherSpellingsAreNotRecognised(t *testing.T) {
	m := mask.New(secret)
	lines := strings.Join(strings.Split(secret, ""), "\n")
	if got := m.String(lines); got != lines {
		t.Errorf("it is recognised: %q", got)
	}
	p := m.Pieces()
	var got strings.Builder
	for _, r := range lines {
		got.WriteString(p.Next(string(r)))
	}
	if got.WriteString(p.End()); got.String() != lines {
		t.Errorf("in pieces it comes as %q", got.String())
	}
}

func BenchmarkString(b *testing.B) {
	m := mask.New("sk-ant-api03-"+strings.Repeat("aB3_", 24), "sk-"+strings.Repeat("Zy9-", 12))
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and so on and on; \"json\": {\"a\": 1}\n", 12_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.String(text)
	}
}

func BenchmarkPieces(b *testing.B) {
	m := mask.New("sk-ant-api03-"+strings.Repeat("aB3_", 24), "sk-"+strings.Repeat("Zy9-", 12))
	p := m.Pieces()
	for b.Loop() {
		p.Next(" and so on, as it is said")
	}
}
