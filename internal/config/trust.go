package config

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"oneloop/model/catalog"
	"oneloop/policy"
)

// folderNames are the variables a folder's .env may set.
func folderNames() []string {
	names := credentialNames()
	for _, p := range catalog.Providers() {
		if strings.HasSuffix(p.Address, "_BASE_URL") && !slices.Contains(names, p.Address) {
			names = append(names, p.Address)
		}
	}
	return append(names, "ONELOOP_MODEL", "MODEL_ID")
}

// dotenvName is the file of a folder that holds variables.
const dotenvName = ".env"

// trust finds out what of the folder may be used: it was written by whoever
// wrote the folder. Before that nothing of the folder counts.
func (l *loader) trust(ctx context.Context) error {
	found, dotenv, err := l.findDotenv()
	if err != nil {
		return err
	}
	t, err := policy.Trust(ctx, policy.TrustOptions{
		Dir: l.Dir, Home: l.home, Store: l.out.TrustStore(), Like: l.Like, More: dotenv,
		Grant: l.Flags.Trust, Ask: l.Ask, Question: l.Question, Instructions: l.instructions,
	})
	if err != nil {
		return err
	}
	for _, n := range t.Notices {
		l.notice("%s", n)
	}
	if t.Has(dotenvName) {
		l.folder = found
	}
	l.out.Trusted = t
	return nil
}

// TrustStore is where it is kept what is trusted, as for [policy.TrustOptions];
// empty: nowhere.
func (s *Settings) TrustStore() string {
	if s.StateDir == "" {
		return ""
	}
	return filepath.Join(s.StateDir, "trust")
}

// findDotenv reads the .env of the folder: the variables in it that count, and
// the finding that it is if one of them would change something.
func (l *loader) findDotenv() (map[string]string, []policy.Finding, error) {
	l.dotenv = filepath.Join(l.Dir, dotenvName)
	data, _, err := readRegular(l.dotenv)
	if absent(err) && l.Like != "" {
		// Git does not keep it, so a worktree has that of the main checkout.
		l.dotenv = filepath.Join(l.Like, dotenvName)
		data, _, err = readRegular(l.dotenv)
	}
	if absent(err) {
		return nil, nil, nil
	}
	var vars []variable
	if err == nil {
		vars, err = parseEnv(data)
	}
	if err != nil {
		return nil, nil, l.brokenDotenv(err)
	}
	found := map[string]string{}
	for _, v := range vars {
		if slices.Contains(folderNames(), v.name) {
			setVar(found, v)
		}
	}
	names := l.useful(found)
	if len(names) == 0 {
		return nil, nil, nil
	}
	return found, []policy.Finding{policy.FoundFile(dotenvName, policy.Variables, data, names)}, nil
}

// brokenDotenv decides what a .env that cannot be read means: an error when
// it was asked for, or when the credential can be nowhere else; otherwise the
// user is told and the work goes on.
func (l *loader) brokenDotenv(err error) error {
	l.broken = misconfigured(err, "%s cannot be read: %s; correct it, or set ANTHROPIC_API_KEY in the environment.", l.dotenv, cause(err))
	if l.Flags.Trust {
		return l.broken
	}
	if slices.ContainsFunc(catalog.Providers(), l.hasKey) {
		l.notice("%s cannot be read (%s) and is ignored.", l.dotenv, cause(err))
	}
	return nil
}

// hasKey reports whether there is a credential for p outside the folder.
func (l *loader) hasKey(p catalog.Provider) bool {
	return slices.ContainsFunc(p.Variables(), func(name string) bool { _, set := l.variable(name); return set })
}

// useful names what the file would set that is not set already.
func (l *loader) useful(found map[string]string) []string {
	var names []string
	for _, name := range folderNames() {
		_, set := l.variable(name)
		credential := slices.ContainsFunc(catalog.Providers(), func(p catalog.Provider) bool {
			return slices.Contains(p.Variables(), name) && l.hasKey(p)
		})
		if found[name] == "" || set || credential {
			continue
		}
		names = append(names, name)
	}
	return names
}
