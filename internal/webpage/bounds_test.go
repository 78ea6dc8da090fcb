package webpage_test

import (
	"strings"
	"testing"
	"time"

	"oneloop/internal/webpage"
)

// hostile pages are written to take a parser long. Each is made of the pieces
// before, again and again, and after.
var hostile = map[string]struct{ before, again, after string }{
	"inline":              {"", "<b>", ""},
	"blocks":              {"", "<div>", ""},
	"paragraphs":          {"", "<b><p>", ""},
	"lists":               {"", "<ul><li>", ""},
	"tables":              {"", "<table><tr><td>", ""},
	"words in no cell":    {"<table><tr>", "x<b>", ""},
	"links":               {"", "<a href=x><div>", ""},
	"misnested":           {"", "<b></i><i></b>", ""},
	"angles":              {"", "<", ""},
	"ends of nothing":     {"", "</", ""},
	"unmatched ends":      {strings.Repeat("<b>", 600), "</i>", ""},
	"ends out of scope":   {"<i><td><table><td>" + strings.Repeat("<b>", 600), "</i>", ""},
	"items":               {strings.Repeat("<b>", 600), "<li>", ""},
	"attributes":          {"<p ", "a b=c ", ">"},
	"one attribute twice": {"<p ", "a=b ", ">"},
	"unclosed quotes":     {"", `<a b="c>`, ""},
	"unclosed comments":   {"", "<!-- -", ""},
	"dashes":              {"<!--", "-", ""},
	"unclosed script":     {"<script>", "</scrip <!--<script ", ""},
	"scripts":             {"", "<script>", ""},
	"titles":              {"<title>", "</titl", ""},
	"entities":            {"", "&amp", ""},
	"no entities":         {"", "&a", ""},
	"one long entity":     {"&", "a", ""},
	"values":              {`<p a="`, "&", `">`},
	"one long value":      {`<p a="&`, "a", `">`},
	"foreign":             {"", "<svg><desc>", ""},
	"foreign ends":        {"", "<svg><g>", "</svg>"},
	"sections":            {"<svg>", "<![CDATA[", ""},
	"declarations":        {"", "<!<?", ""},
	"zeros":               {"", "\x00", ""},
	"upper case":          {"<", "A", ">"},
}

func TestTheTimeForAPageGrowsWithItsLengthOnly(t *testing.T) {
	for name, h := range hostile {
		page := func(bytes int) string { return h.before + strings.Repeat(h.again, bytes/len(h.again)) + h.after }
		const times = 64
		short, long := page(4<<10), page(times*4<<10)
		// Twice the time for twice the length is 64 here, four times is 4096.
		// On a busy machine only the best of several tries says something.
		quick, slow := time.Hour, time.Hour
		for range 30 {
			quick, slow = min(quick, took(short)), min(slow, took(long))
			if slow < 12*times*max(quick, 20*time.Microsecond) {
				break
			}
		}
		if slow >= 12*times*max(quick, 20*time.Microsecond) {
			t.Errorf("%s: %v for %d bytes, %v for %d", name, quick, len(short), slow, len(long))
		}
	}
}

func took(page string) time.Duration {
	begin := time.Now()
	webpage.Parse(page)
	return time.Since(begin)
}

func TestDeepPagesAreFlatAtTheBottomAndKeepTheirWords(t *testing.T) {
	for name, h := range hostile {
		if d := depth(webpage.Parse(h.before + strings.Repeat(h.again, 5000) + h.after)); d > webpage.Depth+2 {
			t.Errorf("%s: %d deep", name, d)
		}
	}
	page := strings.Repeat("<div>a ", 2000) + "<script>b</script>c" + strings.Repeat("</div>d ", 3000)
	got := strings.Join(seen(webpage.Parse(page)), "")
	if want := strings.Repeat("a", 2000) + "c" + strings.Repeat("d", 3000); got != want {
		t.Errorf("%d words of %d", len(got), len(want))
	}
}
