package config

import "strings"

// Language says which language to speak, "en" or "zh", by an environment as
// os.Environ gives it. It is for messages that come before settings are read.
func Language(pairs []string) string {
	env := environ(pairs)
	if l, ok := parseLanguage(env["ONELOOP_LANG"]); ok {
		return l
	}
	return locale(env)
}

// locale reads the locale as a string, by the precedence of POSIX.
func locale(env map[string]string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := env[name]; v != "" {
			l, _ := parseLanguage(v)
			return l
		}
	}
	return "en"
}

// parseLanguage reads names like zh, zh_CN.UTF-8, zh-Hans or en. False means
// that it is another language, which is spoken to in English.
func parseLanguage(s string) (string, bool) {
	s = strings.ToLower(s)
	if i := strings.IndexAny(s, "_-.@"); i >= 0 {
		s = s[:i]
	}
	switch s {
	case "zh", "chinese":
		return "zh", true
	case "en", "english", "c", "posix":
		return "en", true
	}
	return "en", false
}

// language decides which language is spoken: ONELOOP_LANG, then the settings,
// then the locale.
func (l *loader) language() error {
	v, ok := l.variable("ONELOOP_LANG")
	if !ok {
		v = l.fromFiles("language")
	}
	if v.text == "" {
		l.out.Language = locale(l.env)
		return nil
	}
	lang, known := parseLanguage(v.text)
	if !known {
		l.notice("the language %q from %s is not spoken here; the languages are en, zh.", v.text, v.from)
		l.out.Language = locale(l.env)
		return nil
	}
	l.out.Language = lang
	l.set("language", v)
	return nil
}
