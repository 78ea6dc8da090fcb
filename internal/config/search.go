package config

import (
	"slices"
	"strings"
)

const searchKey = "webSearch"

// search decides whether the API may search the web by itself. Nobody can ask
// between its searches, so that a rule which denies them, or wants a question,
// keeps the tool away from the model.
func (l *loader) search() error {
	v := value{l.Flags.WebSearch, "--web-search"}
	if v.text == "" {
		v = l.own.value(searchKey)
	}
	if v.text == "" {
		return nil
	}
	l.out.WebSearch = l.set("web_search", v) == "true"
	for _, f := range l.out.Permissions {
		for _, rule := range slices.Concat(f.Deny, f.Ask) {
			if name, _, _ := strings.Cut(rule, "("); l.out.WebSearch && strings.TrimSpace(name) == "WebSearch" {
				l.out.WebSearch = false
				l.notice("the web is not searched although %s says so: the API searches without a question, and %s has the rule %s.", v.from, f.Path, rule)
			}
		}
	}
	return nil
}
