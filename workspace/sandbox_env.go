package workspace

import (
	"path/filepath"
	"slices"
	"strings"
)

// unreachable are variables that lead to what no command in a sandbox
// reaches.
var unreachable = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST"}

// secretWords make the name of a variable that of a credential, and
// secretParts do where they are a part of it between underscores.
var (
	secretWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDS", "APIKEY", "BEARER", "JWT", "COOKIE"}
	secretParts = []string{"KEY", "PASS", "PAT", "DSN"}
)

// secretEnds do so at the end of a name.
var secretEnds = []string{"_PWD", "_AUTH"}

// plainEnds are no passwords.
var plainEnds = []string{"ASKPASS", "BYPASS", "COMPASS"}

// secretName reports whether a variable is named like a credential.
func secretName(key string) bool {
	key = strings.ToUpper(key)
	if strings.HasPrefix(key, "GIT_CONFIG_KEY_") { // the name of a setting, and git fails when one is missing
		return false
	}
	if slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(key, word) }) ||
		slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(key, end) }) {
		return true
	}
	for part := range strings.SplitSeq(key, "_") {
		if slices.Contains(secretParts, part) || strings.HasSuffix(part, "PASS") && !slices.Contains(plainEnds, part) {
			return true
		}
	}
	return false
}

// secretValue reports whether there is a URL with a password in it.
func secretValue(value string) bool {
	for {
		_, rest, ok := strings.Cut(value, "://")
		if !ok {
			return false
		}
		value = rest
		if end := strings.IndexAny(rest, "/?# \t\n\"'"); end >= 0 {
			rest = rest[:end]
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			if _, password, _ := strings.Cut(rest[:at], ":"); password != "" {
				return true
			}
		}
	}
}

// Secrets gives the values of those variables of an environment, as of
// [os.Environ], that are named like credentials. Paths and short words are none.
func Secrets(env []string) (values []string) {
	for _, kv := range env {
		key, value, _ := strings.Cut(kv, "=")
		if len(value) >= 12 && secretName(key) && !strings.ContainsAny(value, "/\\ \n") {
			values = append(values, value)
		}
	}
	return values
}

// confinedEnv is the environment of commands in a sandbox: without
// credentials, without ways that lead nowhere, and with those folders that can
// be written.
func confinedEnv(env, keep []string, cache string) []string {
	var out []string
	for _, kv := range env {
		key, value, _ := strings.Cut(kv, "=")
		if slices.Contains(keep, key) || !secretName(key) && !secretValue(value) && !slices.Contains(unreachable, key) {
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
	var paths []string
	for _, base := range []struct{ variable, otherwise string }{{"XDG_CONFIG_HOME", ".config"}, {"XDG_DATA_HOME", ".local/share"}, {"XDG_STATE_HOME", ".local/state"}, {"XDG_CACHE_HOME", ".cache"}} {
		dir := envValue(env, base.variable)
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range hiddenNames {
			if rest, ok := strings.CutPrefix(name, base.otherwise+"/"); ok {
				paths = append(paths, filepath.Join(dir, rest))
			}
		}
	}
	if home := envValue(env, "HOME"); filepath.IsAbs(home) {
		for _, name := range hiddenNames {
			paths = append(paths, filepath.Join(home, name))
		}
	}
	return append(paths, hiddenSystem...)
}

// namedPaths are files and folders with credentials that variables name, but
// for those in keep.
func namedPaths(env, keep []string) []string {
	var paths []string
	for _, v := range []struct{ variable, below string }{
		{"KUBECONFIG", ""}, {"NETRC", ""}, {"NPM_CONFIG_USERCONFIG", ""}, {"PIP_CONFIG_FILE", ""}, {"PGPASSFILE", ""}, {"AWS_SHARED_CREDENTIALS_FILE", ""},
		{"AWS_CONFIG_FILE", ""}, {"GOOGLE_APPLICATION_CREDENTIALS", ""}, {"CLOUDSDK_CONFIG", ""}, {"AZURE_CONFIG_DIR", ""}, {"GH_CONFIG_DIR", ""}, {"GNUPGHOME", ""},
		{"PASSWORD_STORE_DIR", ""}, {"TF_CLI_CONFIG_FILE", ""}, {"WGETRC", ""}, {"DOCKER_CONFIG", "config.json"}, {"CURL_HOME", ".curlrc"},
		{"CARGO_HOME", "credentials"}, {"CARGO_HOME", "credentials.toml"}, {"CODEX_HOME", "auth.json"}, {"CLAUDE_CONFIG_DIR", ".credentials.json"},
	} {
		if slices.Contains(keep, v.variable) {
			continue
		}
		for _, path := range filepath.SplitList(envValue(env, v.variable)) {
			if filepath.IsAbs(path) {
				paths = append(paths, filepath.Join(path, v.below))
			}
		}
	}
	return paths
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
	".config/oneloop", ".local/state/oneloop",
	".authinfo", ".authinfo.gpg", ".config/github-copilot", ".fly/config.yml", ".terraformrc", ".msmtprc", ".config/msmtp/config", ".subversion/auth", ".bundle/config",
	".curlrc", ".config/curlrc", ".wgetrc", ".mylogin.cnf", ".passwd-s3fs", ".config/stripe", ".config/hcloud", ".config/helm/registry/config.json", ".config/argocd",
	".config/configstore", ".config/netlify", ".config/.wrangler", ".local/share/opencode", ".local/share/fish/fish_history", ".sqlite_history", ".rediscli_history", ".irb_history",
	".ngrok2", ".config/ngrok", ".sbt/.credentials", ".sbt/credentials", ".sbt/1.0/credentials.sbt", ".ivy2/.credentials", ".ivy2/credentials", ".snowflake", ".config/snowflake",
	".wrangler", ".jfrog", ".Xauthority", ".lftprc", ".config/lftp/rc", ".lftp/rc",
	".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json",
}

// hiddenSystem are the system's, which root could read.
var hiddenSystem = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/krb5.keytab",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssl/private",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet",
}
