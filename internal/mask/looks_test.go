package mask_test

import (
	"strings"
	"testing"

	"oneloop/internal/mask"
)

func TestWhatLooksLikeACredentialIsToldFromWhatSpeaksOfOne(t *testing.T) {
	body := strings.Repeat("a1B2", 10)
	for _, text := range []string{
		"sk-ant-" + body, "key sk-" + body + ".", "(ghp_" + body + ")", "AKIA" + "ABCD1234EFGH5678", "TOKEN=xoxb-" + body,
		"eyJ" + body + ".eyJ" + body + "." + body,
		"-----BEGIN RSA PRIVATE KEY-----\nx",
		"postgres://me:hunter22@db/x", "the password is: hunter2222", "PASSWORD=hunter2222", `"api_key": "hunter2222"`, "数据库密码是hunter2222，别外传", "**Token**: `hunter2222`",
	} {
		if mask.Looks(text) == "" {
			t.Errorf("%q passes", text)
		}
	}
	for _, text := range []string{
		"", "the token is in $GITHUB_TOKEN", "password: <yours>", "API_KEY=${API_KEY}", "token: see docs/setup2.md", "https://me@host/x", "https://me:$PASS@host/x",
		"sk-learn 1.2", "use the sk- prefix", "secrets live in vault2 of the team", "tokens: 50000 at most", "task-ab12-cd34-ef56-ab12-cd34-ef56", "密码在保险箱2里",
		"commit 0123456789abcdef0123456789abcdef01234567", "make test TOKEN=x",
	} {
		if got := mask.Looks(text); got != "" {
			t.Errorf("%q: %s", text, got)
		}
	}
}
