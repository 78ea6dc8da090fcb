package config

import (
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"oneloop/model/catalog"
	"oneloop/policy"
	"oneloop/workspace"
)

// credentialNames are the environment variables that hold credentials of
// ours. Their values are kept from commands and masked wherever they show.
func credentialNames() []string {
	var names []string
	for _, p := range catalog.Providers() {
		for _, name := range p.Variables() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// environ reads "NAME=value" pairs. A later pair wins, as it does for
// programs that are started; an empty value counts as unset; white space
// around a value, such as the newline of a file it was read from, is dropped.
func environ(pairs []string) map[string]string {
	env := map[string]string{}
	for _, p := range pairs {
		name, v, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			continue
		}
		delete(env, name)
		if v = strings.TrimSpace(v); v != "" {
			env[name] = v
		}
	}
	return env
}

// credentials decides which one credential is used. A key beats a token. A
// folder's .env counts only when there is neither outside it.
func (l *loader) credentials() error {
	key, hasKey := l.variable("ANTHROPIC_API_KEY")
	token, hasToken := l.variable("ANTHROPIC_AUTH_TOKEN")
	if !hasKey && !hasToken {
		key.text, hasKey = l.folder["ANTHROPIC_API_KEY"]
		token.text, hasToken = l.folder["ANTHROPIC_AUTH_TOKEN"]
		key.from, token.from = l.dotenv, l.dotenv
	}
	l.out.secrets = l.allSecrets()

	auth := l.own.text("auth")
	useKey := hasKey && (auth != "token" || !hasToken)
	if hasKey && hasToken {
		used, other := "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"
		if !useKey {
			used, other = other, used
		}
		l.notice("%s and %s are both set; %s is used.", used, other, used)
	}
	chosen, name := token, "token"
	if useKey {
		chosen, name = key, "key"
	}
	if !sendable(chosen.text) {
		return misconfigured(nil, "the credential from %s holds a blank, a control character or a character outside ASCII; copy it again.", chosen.from)
	}
	if auth != "" { // the header is chosen, whatever the credential is called
		name = auth
	}
	if chosen.text == "" {
		return nil
	}
	if name == "key" {
		l.out.Key = Secret{l.set("key", chosen)}
	} else {
		l.out.Token = Secret{l.set("token", chosen)}
	}
	return nil
}

// allSecrets collects every credential in sight.
func (l *loader) allSecrets() []string {
	var all []string
	for _, vars := range []map[string]string{l.env, l.user, l.folder} {
		for _, name := range credentialNames() {
			if v := vars[name]; v != "" && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
		for name, v := range vars {
			if !strings.HasSuffix(name, "_BASE_URL") {
				continue
			}
			if u, err := url.Parse(v); err == nil && u.User != nil {
				if p, _ := u.User.Password(); p != "" && !slices.Contains(all, p) {
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// network decides the address. One from a folder's .env is used only with a
// credential from the same file: a folder must not send the user's own
// credential to an address of its choice.
func (l *loader) network() error {
	l.out.APIVersion = l.own.text("apiVersion")
	v, ok := l.variable("ANTHROPIC_BASE_URL")
	if !ok {
		v = l.own.value("baseURL")
		ok = v.text != ""
	}
	if t := l.folder["ANTHROPIC_BASE_URL"]; t != "" && !ok {
		from := l.out.From["key"] + l.out.From["token"]
		if from != l.dotenv {
			l.notice("ANTHROPIC_BASE_URL in %s is not used: an address from a folder is used only with a key from the same file, and the key in use is from %s.",
				l.dotenv, orNone(from))
			return nil
		}
		v, ok = value{t, l.dotenv}, true
	}
	if !ok {
		return nil
	}
	if !address(v.text) {
		return misconfigured(nil, "the base URL from %s is no http or https address with a host; write it like https://api.example.com.", v.from)
	}
	l.out.BaseURL = l.set("base_url", v)
	return nil
}

// port reports whether text is a port that can be connected to, or none.
func port(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

func orNone(from string) string {
	if from == "" {
		return "nowhere"
	}
	return from
}

// permissions decides the mode and the sandbox.
func (l *loader) permissions() error {
	mode, bad := value{l.Flags.PermissionMode, "--permission-mode"}, usage
	if mode.text == "" {
		mode, bad = l.own.value("permissions.defaultMode"), fileError
	}
	if mode.text != "" {
		m, err := policy.ParseMode(mode.text)
		if err != nil {
			return bad("%s: %v", mode.from, err)
		}
		l.out.Mode = m
		l.set("permission_mode", mode)
	}
	box, bad := value{l.Flags.Sandbox, "--sandbox"}, usage
	if box.text == "" {
		box, bad = l.own.value("sandbox"), fileError
	}
	switch box.text {
	case "":
	case "auto", workspace.BackendNS, workspace.BackendBwrap, workspace.BackendLL, "none":
		l.out.Sandbox = l.set("sandbox", box)
	default:
		return bad("%s: there is no sandbox named %q; the names are auto, ns, bwrap, ll, none.", box.from, box.text)
	}
	return nil
}

func fileError(format string, args ...any) error { return misconfigured(nil, format, args...) }

// times reads the numbers of the environment.
func (l *loader) times() error {
	for _, d := range []struct {
		name, setting string
		to            *time.Duration
		least         time.Duration
	}{
		{"ONELOOP_RETRY_DELAY", "retry_delay_ns", &l.out.RetryDelay, 0},
		{"ONELOOP_IDLE_TIMEOUT", "idle_timeout_ns", &l.out.IdleTimeout, time.Millisecond},
		{"ONELOOP_PROGRESS_TIMEOUT", "progress_timeout_ns", &l.out.ProgressTimeout, time.Millisecond},
		{"ONELOOP_BACKGROUND_WAIT", "background_wait_ns", &l.out.BackgroundWait, 0},
	} {
		v, ok := l.variable(d.name)
		if !ok {
			continue
		}
		t, ok := duration(v.text)
		if !ok || t < d.least {
			return misconfigured(nil, "%s is %q; write a time like 90s, 5m or plain seconds%s.", d.name, v.text, least(d.least))
		}
		*d.to = t
		l.set(d.setting, v)
	}
	if v, ok := l.variable("ONELOOP_MAX_RETRIES"); ok {
		n, err := strconv.Atoi(v.text)
		if err != nil || n < 0 {
			return misconfigured(nil, "ONELOOP_MAX_RETRIES is %q; write a whole number, 0 for no second try.", v.text)
		}
		l.out.MaxRetries = n
		l.set("max_retries", v)
	}
	if v, ok := l.variable("ONELOOP_CONTEXT_WINDOW"); ok {
		n, err := strconv.ParseInt(v.text, 10, 64)
		if err != nil || n <= 0 {
			return misconfigured(nil, "ONELOOP_CONTEXT_WINDOW is %q; write a number of tokens, such as 200000.", v.text)
		}
		l.out.ContextWindow = n
		l.set("context_window", v)
	}
	return nil
}

func least(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", more than nothing"
}

// duration reads a time as Go writes it, or plain seconds.
func duration(s string) (time.Duration, bool) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, d >= 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0) || f >= math.MaxInt64/float64(time.Second) {
		return 0, false
	}
	return time.Duration(f * float64(time.Second)), true
}

// findDirs decides where our own files are. XDG variables that are no
// absolute path do not count, as their specification says.
func (l *loader) findDirs() {
	home := l.env["HOME"]
	if home == "" {
		home = l.env["USERPROFILE"]
	}
	if filepath.IsAbs(home) {
		l.home = filepath.Clean(home)
	}
	l.out.ConfigDir = l.dir("XDG_CONFIG_HOME", ".config")
	l.findState(l.dir("XDG_STATE_HOME", filepath.Join(".local", "state")))
}

func (l *loader) dir(xdg, below string) string {
	if d := l.env[xdg]; filepath.IsAbs(d) {
		return filepath.Join(d, "oneloop")
	}
	if l.home == "" {
		return ""
	}
	return filepath.Join(l.home, below, "oneloop")
}
