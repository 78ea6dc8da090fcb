package workspace

import (
	"path/filepath"
	"slices"
	"strings"
)

// unreachable are variables that lead to what no command in a sandbox
// reaches.
var unreachable = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST"}

// secretWords make the name of a variable that of a credential.
var secretWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH_KEY"}

// secretEnds do so at the end of a name.
var secretEnds = []string{"_KEY", "_PAT", "_PWD", "_AUTH"}

// secretName reports whether a variable is named like a credential.
func secretName(key string) bool {
	key = strings.ToUpper(key)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(key, word) }) ||
		slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(key, end) })
}

// confinedEnv is the environment of commands in a sandbox: without
// credentials, without ways that lead nowhere, and with those folders that can
// be written.
func confinedEnv(env, keep []string, cache string) []string {
	var out []string
	for _, kv := range env {
		key, _, _ := strings.Cut(kv, "=")
		if slices.Contains(keep, key) || !secretName(key) && !slices.Contains(unreachable, key) {
			out = append(out, kv)
		}
	}
	return cacheEnv(mergeEnv(out, "TMPDIR=/tmp"), cache)
}

// cacheEnv tells programs where to keep downloads and intermediate results.
func cacheEnv(env []string, cache string) []string {
	return mergeEnv(env,
		"XDG_CACHE_HOME="+cache,
		"GOCACHE="+filepath.Join(cache, "go-build"),
		"npm_config_cache="+filepath.Join(cache, "npm"),
		"PIP_CACHE_DIR="+filepath.Join(cache, "pip"),
	)
}

// HiddenPaths are the files and folders of a user, whose environment this is,
// that hold credentials, and those of this program's own. Most will not exist.
func HiddenPaths(env []string) []string {
	home := envValue(env, "HOME")
	var paths []string
	if filepath.IsAbs(home) {
		for _, name := range hiddenNames {
			paths = append(paths, filepath.Join(home, name))
		}
		paths = append(paths,
			filepath.Join(dirOr(env, "XDG_CONFIG_HOME", filepath.Join(home, ".config")), "oneloop"),
			filepath.Join(dirOr(env, "XDG_STATE_HOME", filepath.Join(home, ".local/state")), "oneloop"),
		)
	}
	return append(paths, hiddenSystem...)
}

func dirOr(env []string, key, otherwise string) string {
	if dir := envValue(env, key); filepath.IsAbs(dir) {
		return dir
	}
	return otherwise
}

// hiddenNames are below the home folder.
var hiddenNames = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".oci", ".password-store", ".docker/config.json",
	".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli",
	".config/gcloud", ".config/rclone", ".config/op", ".config/containers/auth.json", ".config/doctl", ".config/heroku", ".config/sops",
	".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml",
	".gradle/gradle.properties", ".composer/auth.json", ".config/composer/auth.json", ".config/pip/pip.conf", ".pip/pip.conf", ".nuget/NuGet/NuGet.Config",
	".pgpass", ".my.cnf", ".vault-token", ".databrickscfg", ".s3cfg", ".boto", ".terraform.d/credentials.tfrc.json", ".huggingface/token", ".cache/huggingface/token", ".kaggle",
	".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".thunderbird",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".lesshst",
	".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json",
}

// hiddenSystem are the system's, which root could read.
var hiddenSystem = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/krb5.keytab",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssl/private",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet",
}
