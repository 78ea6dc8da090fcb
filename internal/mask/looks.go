package mask

import (
	"strings"
	"unicode"
)

// issued are the beginnings of credentials that services issue, with the least
// number of characters that follow.
var issued = []struct {
	begins string
	more   int
}{
	{"sk-", 20}, {"sk_live_", 16}, {"rk_live_", 16}, {"ghp_", 20}, {"gho_", 20}, {"ghu_", 20}, {"ghs_", 20}, {"ghr_", 20}, {"github_pat_", 20}, {"glpat-", 16},
	{"xoxb-", 16}, {"xoxp-", 16}, {"xoxa-", 16}, {"xapp-", 16}, {"AKIA", 16}, {"ASIA", 16}, {"AIza", 30}, {"npm_", 30}, {"pypi-", 30}, {"hf_", 30}, {"dop_v1_", 30}, {"SG.", 30},
}

// named are words before a : or = behind which a credential stands.
var named = []string{"password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "access_key", "private_key", "密码", "口令", "密钥"}

// Looks says what a text holds that looks like a credential, in words for a
// message; empty: nothing. It knows common forms only, and errs to both sides.
func Looks(text string) string {
	if i := strings.Index(text, "-----BEGIN "); i >= 0 && strings.Contains(text[i:], "PRIVATE KEY-----") {
		return "a private key"
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"'`()<>[]{},;|，。；（）“”", r)
	}) {
		if what := looks(word); what != "" {
			return what
		}
	}
	return assigned(text)
}

func looks(word string) string {
	if _, rest, ok := strings.Cut(word, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		if user, _, ok := strings.Cut(host, "@"); ok {
			if _, password, _ := strings.Cut(user, ":"); password != "" && !standsFor(password) {
				return "an address with a password"
			}
		}
	}
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune("=:/?&@#", r) }) {
		for _, f := range issued {
			if rest, ok := strings.CutPrefix(part, f.begins); ok && len(rest) >= f.more && dense(rest) {
				return "what looks like a key (" + f.begins + "…)"
			}
		}
		if strings.HasPrefix(part, "eyJ") && strings.Count(part, ".") == 2 && len(part) >= 40 {
			return "what looks like a token (eyJ…)"
		}
	}
	return ""
}

// assigned looks for a word that is called a password or the like.
func assigned(text string) string {
	for line := range strings.Lines(text) {
		low := strings.ToLower(line)
		for _, name := range named {
			for at := 0; ; {
				i := strings.Index(low[at:], name)
				if i < 0 {
					break
				}
				at += i + len(name)
				rest := strings.TrimLeft(low[at:], "\"'`* \t")
				if after, ok := strings.CutPrefix(rest, "is"); ok {
					rest = ":" + after
				}
				value := strings.TrimLeft(rest, ":=：是为 \t\"'`*")
				if strings.TrimLeft(rest, ":=：是为") == rest { // nothing is said of its value
					continue
				}
				if end := strings.IndexFunc(value, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`,;，。；", r) }); end >= 0 {
					value = value[:end]
				}
				if len(value) >= 8 && mixed(value) && !standsFor(value) {
					return "what looks like the value of a " + name
				}
			}
		}
	}
	return ""
}

// dense reports whether a text is letters and digits as of a key, both.
func dense(text string) bool {
	return mixed(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' && r != '.'
	})
}

func mixed(text string) bool {
	return strings.ContainsFunc(text, unicode.IsDigit) && strings.ContainsFunc(text, unicode.IsLetter)
}

// standsFor reports whether a value stands for one that is elsewhere: $NAME,
// <name>, ***.
func standsFor(value string) bool {
	return strings.ContainsAny(value, "$<{%(*/") || strings.HasPrefix(strings.ToLower(value), "your")
}
