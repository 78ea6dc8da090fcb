package webpage_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/htmlindex"

	"oneloop/internal/webpage"
)

func TestTheEncodingIsChosenAsBrowsersChooseIt(t *testing.T) {
	const text = "中文网页，你好。"
	gbk := encoded(t, "gbk", text)
	for _, c := range []struct{ kind, body, want, note string }{
		{"text/html; charset=gbk", "\ufeff" + text, text, ""},
		{"text/html; charset=utf-8", "\xff\xfea\x00-N", "a中", ""},
		{"", "\xfe\xff\x00aN-", "a中", ""},
		{"text/html; charset=gbk", "<meta charset=utf-8>" + gbk, "<meta charset=utf-8>" + text, ""},
		{"text/html; charset=\"GBK\"", gbk, text, ""},
		{"text/html;;charset=gbk;", gbk, text, ""},
		{"text/html", "<META CHARSET = 'GB_2312-80'>" + gbk, "<META CHARSET = 'GB_2312-80'>" + text, ""},
		{"text/html", `<meta content="text/html; charset = x-gbk;a" http-equiv=content-type>` + gbk, `<meta content="text/html; charset = x-gbk;a" http-equiv=content-type>` + text, ""},
		{"", "<!-- <meta charset=utf-8> -->" + gbk, "<!-- <meta charset=utf-8> -->" + text, "the encoding is not declared; read as gb18030"},
		{"", strings.Repeat(" ", 1024) + "<meta charset=utf-8>" + gbk, strings.Repeat(" ", 1024) + "<meta charset=utf-8>" + text, "the encoding is not declared; read as gb18030"},
		{"", "<meta charset=utf-16le>" + text, "<meta charset=utf-16le>" + text, ""},
		{"", text[:len(text)-1], text[:len(text)-3] + "\ufffd", ""},
		{"", gbk[:len(gbk)-1], strings.TrimSuffix(text, "。") + "\ufffd", "the encoding is not declared; read as gb18030"},
		{"", "caf\xe9 \x93x\x94 \xff", "café “x” ÿ", "the encoding is not declared; read as windows-1252"},
		{"text/html; charset=ISO-8859-1", "\x80\xe9", "€é", ""},
		{"text/html; charset=klingon", gbk, text, `the page declares the encoding "klingon", which is not known here; read as gb18030`},
		{"text/html; charset=klingon", "<meta charset=gbk>" + gbk, "<meta charset=gbk>" + text, ""},
		{"text/html; charset=klingon", "a", "a", `the page declares the encoding "klingon", which is not known here; read as utf-8`},
		{"text/html; charset=utf-8", "a\xffb", "a\ufffdb", ""},
		{"", "", "", ""},
	} {
		got, note := webpage.Decode([]byte(c.body), c.kind)
		if got != c.want || note != c.note {
			t.Errorf("%q %.60q: %q, %q", c.kind, c.body, got, note)
		}
	}
}

func encoded(t *testing.T, label, s string) string {
	t.Helper()
	enc, err := htmlindex.Get(label)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// labels of every encoding but UTF-16, as pages write them.
const labels = `utf-8 utf8 unicode-1-1-utf-8 gbk GB2312 x-gbk gb_2312-80 csGB2312 chinese gb18030
big5 big5-hkscs cn-big5 x-x-big5 shift_jis Shift-JIS sjis x-sjis windows-31j ms_kanji euc-jp x-euc-jp iso-2022-jp
euc-kr ks_c_5601-1987 korean ksc_5601 windows-949
ascii us-ascii latin1 iso-8859-1 iso8859-1 iso_8859-1:1987 iso88591 windows-1252 cp1252 x-cp1252 ansi_x3.4-1968 l1
windows-1250 windows-1251 x-cp1251 cp1251 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 windows-874 tis-620
iso-8859-2 latin2 iso_8859-2:1987 iso-8859-3 iso-8859-4 iso-8859-5 cyrillic iso-8859-6 arabic iso-8859-7 greek iso-8859-8 iso-8859-8-i logical
iso-8859-9 latin5 iso-8859-10 iso-8859-11 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8_r koi8-u ibm866 cp866 macintosh x-mac-roman x-mac-cyrillic`

func TestEveryEncodingIsReadAsTheTablesOfTheWebSay(t *testing.T) {
	for _, label := range strings.Fields(labels) {
		enc, err := htmlindex.Get(label)
		if err != nil {
			t.Fatal(err)
		}
		all := []byte("a")
		for i := 0x80; i < 0x100; i++ {
			all = append(all, byte(i), ' ')
		}
		switch name, _ := htmlindex.Name(enc); name {
		case "utf-8":
			continue
		case "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr": // of more bytes
			s, err := enc.NewEncoder().String("aＡ中一")
			if err != nil {
				t.Fatal(err)
			}
			all = []byte(s)
		}
		want, err := enc.NewDecoder().String(string(all))
		if err != nil {
			t.Fatal(err)
		}
		got, note := webpage.Decode(all, "text/html; charset="+label)
		if d := cmp.Diff(want, got); d != "" || note != "" || !utf8.ValidString(got) {
			t.Errorf("%s: %s (-want +got)\n%s", label, note, d)
		}
	}
}

func TestPagesOfEastAsiaAreReadInTheirEncodings(t *testing.T) {
	for label, text := range map[string]string{"big5": "繁體中文", "shift_jis": "日本語の文", "euc-jp": "日本語の文", "iso-2022-jp": "日本語の文", "euc-kr": "한국어", "koi8-r": "Привет", "windows-1251": "Привет", "iso-8859-2": "Zażółć"} {
		page := "<meta charset=" + label + ">"
		got, note := webpage.Decode([]byte(page+encoded(t, label, text)), "text/html")
		if got != page+text || note != "" {
			t.Errorf("%s: %q, %s", label, got, note)
		}
	}
}
