package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"oneloop"
)

// folderNames are the variables a folder's .env may set.
func folderNames() []string {
	return []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ONELOOP_MODEL", "MODEL_ID"}
}

// readDotenv reads the .env of the folder, and uses it only when the folder is
// trusted: it was written by whoever wrote the folder.
func (l *loader) readDotenv(ctx context.Context) error {
	l.dotenv = filepath.Join(l.Dir, ".env")
	data, _, err := readRegular(l.dotenv)
	if absent(err) {
		return nil
	}
	var vars []variable
	if err == nil {
		vars, err = parseEnv(data)
	}
	if err != nil {
		return l.brokenDotenv(err)
	}
	found := map[string]string{}
	for _, v := range vars {
		if slices.Contains(folderNames(), v.name) {
			setVar(found, v)
		}
	}
	names := l.useful(found)
	if len(names) == 0 {
		return nil
	}
	ok, err := l.trusted(ctx, data, names)
	if ok {
		l.folder = found
	}
	return err
}

// brokenDotenv decides what a .env that cannot be read means: an error when
// it was asked for, or when the credential can be nowhere else; otherwise the
// user is told and the work goes on.
func (l *loader) brokenDotenv(err error) error {
	l.broken = misconfigured(err, "%s cannot be read: %s; correct it, or set ANTHROPIC_API_KEY in the environment.", l.dotenv, cause(err))
	if l.Flags.Trust {
		return l.broken
	}
	_, key := l.variable("ANTHROPIC_API_KEY")
	_, token := l.variable("ANTHROPIC_AUTH_TOKEN")
	if key || token {
		l.notice("%s cannot be read (%s) and is ignored.", l.dotenv, cause(err))
	}
	return nil
}

// useful names what the file would set that is not set already.
func (l *loader) useful(found map[string]string) []string {
	var names []string
	_, key := l.variable("ANTHROPIC_API_KEY")
	_, token := l.variable("ANTHROPIC_AUTH_TOKEN")
	for _, name := range folderNames() {
		_, set := l.variable(name)
		credential := name == "ANTHROPIC_API_KEY" || name == "ANTHROPIC_AUTH_TOKEN"
		if found[name] == "" || set || credential && (key || token) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// trusted says whether the file may be used: by the flag, because the user
// said so before of the same text in the same folder, or by asking.
func (l *loader) trusted(ctx context.Context, data []byte, names []string) (bool, error) {
	if l.Flags.Trust {
		return true, nil
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	folder := realPath(l.Dir)
	store := trustFile(l.out.StateDir)
	if store.has(folder, hash) {
		return true, nil
	}
	list := strings.Join(names, ", ")
	if l.Ask == nil {
		l.notice("%s sets %s and is ignored: this folder is not trusted and nobody is there to ask. Use it with --trust.", l.dotenv, list)
		return false, nil
	}
	answer, err := l.Ask(ctx, oneloop.Question{
		Kind:   "trust",
		Title:  "Use the settings in " + oneLine(l.dotenv) + "?",
		Detail: strings.Join(names, "\n"),
		Reason: "whoever wrote this folder wrote that file; it decides whose key is used and where requests go",
	})
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil || !answer.Allow {
		l.notice("%s is ignored.", l.dotenv)
		return false, nil
	}
	if err := store.add(folder, hash); err != nil {
		l.notice("the answer about %s could not be kept (%s), so it is asked again next time.", l.dotenv, cause(err))
	}
	return true, nil
}

// realPath is the path by which a folder is known, whatever link led to it.
func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// trustFile is the state folder whose trust.json says which folders were
// trusted with which text of their .env. Empty: there is none.
type trustFile string

type trustRecord struct {
	Version int               `json:"version"`
	DotEnv  map[string]string `json:"dotenv"` // SHA-256 of the file, by the folder's real path
}

func (dir trustFile) path() string { return filepath.Join(string(dir), "trust.json") }

// read gives an empty record for a file that is missing or damaged: then it is
// asked again.
func (dir trustFile) read() trustRecord {
	none := trustRecord{Version: 1, DotEnv: map[string]string{}}
	if dir == "" {
		return none
	}
	data, _, err := readRegular(dir.path())
	if err != nil {
		return none
	}
	var r trustRecord
	if json.Unmarshal(data, &r) != nil || r.Version != 1 || r.DotEnv == nil {
		return none
	}
	return r
}

func (dir trustFile) has(folder, hash string) bool { return dir.read().DotEnv[folder] == hash }

// add keeps an answer. Two programs that do so at once may lose one of the two
// answers, which is then asked for again.
func (dir trustFile) add(folder, hash string) error {
	if dir == "" {
		return errors.New("there is no folder for it")
	}
	r := dir.read()
	r.DotEnv[folder] = hash
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(string(dir), ".trust-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), dir.path())
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
