package workspace_test

import (
	"slices"
	"testing"

	"oneloop/workspace"
)

func TestVariablesWithCredentialsAreLeftOut(t *testing.T) {
	secret := []string{
		"GITHUB_TOKEN=x", "AWS_SECRET_ACCESS_KEY=x", "DB_PASS=x", "DBPASS=x", "PASS=x", "PASS_WORD=x", "GCP_CREDS=x", "X_BEARER=x", "MY_JWT=x", "SESSION_COOKIE=x", "KEY=x", "KEY_ID=x", "STRIPE_KEY=x",
		"SENTRY_DSN=x", "GH_PAT=x", "MYSQL_PWD=x", "NPM_AUTH=x", "DATABASE_URL=postgres://user:word@host/db", "LIST=a https://h/ https://u:p@h", "INDEX=https://u:p@h:80",
	}
	plain := []string{
		"PWD=/x", "OLDPWD=/x", "PATH=/x", "LESSKEY=x", "MONKEY=x", "KEYBOARD=x", "COMPASS=x", "PATTERN=x", "GIT_ASKPASS=/x", "GIT_CONFIG_KEY_0=a.b", "HOTKEYS=x", "PASSENGER_ENV=x",
		"URL=https://host/a:b@c", "GIT=ssh://git@host/x", "MAIL=a:b@c", "EMPTY=redis://:@host", "DATABASE=postgres://user@host/db",
	}
	got := workspace.ConfinedEnv(slices.Concat(secret, plain), nil)
	for _, kv := range secret {
		if slices.Contains(got, kv) {
			t.Errorf("%s is passed on", kv)
		}
	}
	for _, kv := range plain {
		if !slices.Contains(got, kv) {
			t.Errorf("%s is left out", kv)
		}
	}
	if kept := workspace.ConfinedEnv([]string{"DB_PASS=x"}, []string{"DB_PASS"}); !slices.Contains(kept, "DB_PASS=x") {
		t.Error("what is to be kept is left out")
	}
}

func TestHiddenPathsFollowTheEnvironment(t *testing.T) {
	got := workspace.HiddenPaths([]string{"HOME=/h", "XDG_CONFIG_HOME=/c", "XDG_DATA_HOME=/d", "XDG_STATE_HOME=relative"})
	got = append(got, workspace.NamedPaths([]string{"KUBECONFIG=/k/one:/k/two:three", "NETRC=/n", "DOCKER_CONFIG=/docker"}, []string{"NETRC"})...)
	for _, want := range []string{
		"/h/.ssh", "/c/gh", "/c/git/credentials", "/c/oneloop", "/h/.config/gh", "/d/keyrings", "/h/.local/state/oneloop", "/h/.authinfo", "/h/.ngrok2", "/c/ngrok", "/h/.ivy2/.credentials", "/h/.Xauthority", "/h/.wrangler", "/c/.wrangler", "/d/opencode", "/k/one", "/k/two", "/docker/config.json",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not hidden", want)
		}
	}
	for _, not := range []string{"/n", "three", "relative/oneloop"} {
		if slices.Contains(got, not) {
			t.Errorf("%s is hidden", not)
		}
	}
}
