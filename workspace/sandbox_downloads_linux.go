//go:build amd64 || arm64

package workspace

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"oneloop/workspace/confine"
)

// store is a folder of the user's with what a program has downloaded or made.
// Commands read it, and what they add is kept apart: see layers. Where
// that cannot be they get another one.
type store struct {
	name     string
	variable string // that names another one
	path     string // without links; empty: the user has none
	open     bool   // commands change it as it is
}

// stores are those of the user whose environment this is. Programs that take
// a folder for downloads only, and lose nothing with an empty one, have theirs
// by [cacheEnv]. write are the folders that commands change.
func stores(env, write []string) []store {
	list := []store{
		{name: "go-mod", variable: "GOMODCACHE", path: goModules(env)},
		{name: "go-build", variable: "GOCACHE", path: goBuilds(env)},
		{name: "cargo", variable: "CARGO_HOME", path: dirOr(env, "CARGO_HOME", filepath.Join(envValue(env, "HOME"), ".cargo"))},
	}
	for i := range list {
		actual, err := realPath(list[i].path)
		if list[i].path = actual; err != nil || !filepath.IsAbs(actual) || !isDir(actual) {
			list[i].path = ""
		}
		list[i].open = list[i].path != "" && within(write, actual)
	}
	return list
}

// within reports whether a path is one of some folders or in one.
func within(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { _, in := below(dir, path); return in })
}

// goModules is where the go command keeps modules.
func goModules(env []string) string {
	if dir := goValue(env, "GOMODCACHE"); dir != "" {
		return dir
	}
	path, _, _ := strings.Cut(goValue(env, "GOPATH"), string(filepath.ListSeparator))
	if path == "" {
		path = filepath.Join(envValue(env, "HOME"), "go")
	}
	return filepath.Join(path, "pkg", "mod")
}

// goBuilds is where it keeps what it has compiled.
func goBuilds(env []string) string {
	if dir := goValue(env, "GOCACHE"); dir != "" {
		return dir
	}
	return filepath.Join(dirOr(env, "XDG_CACHE_HOME", filepath.Join(envValue(env, "HOME"), ".cache")), "go-build")
}

// goValue is a setting of the go command: of the environment, of the file that
// "go env -w" writes, or of the one that came with the command.
func goValue(env []string, key string) string {
	if v := envValue(env, key); v != "" {
		return v
	}
	name := envValue(env, "GOENV")
	if name == "" {
		name = filepath.Join(dirOr(env, "XDG_CONFIG_HOME", filepath.Join(envValue(env, "HOME"), ".config")), "go", "env")
	}
	for _, file := range []string{name, goShipped(env)} {
		if v := lineValue(file, key); v != "" {
			return v
		}
	}
	return ""
}

// goShipped is the file of defaults of the first go command on PATH; "" where
// there is none.
func goShipped(env []string) string {
	for _, dir := range filepath.SplitList(envValue(env, "PATH")) {
		if path, ok := executable(filepath.Join(dir, "go")); ok && filepath.IsAbs(dir) {
			if actual, err := filepath.EvalSymlinks(path); err == nil {
				return filepath.Join(filepath.Dir(filepath.Dir(actual)), "go.env")
			}
		}
	}
	return ""
}

// lineValue finds KEY=VALUE in a file; "" where it is not, or the file is none.
func lineValue(file, key string) string {
	if !filepath.IsAbs(file) { // "off"
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if k, v, _ := strings.Cut(lines.Text(), "="); k == key {
			return v
		}
	}
	return ""
}

// layersMost is how many programs can keep downloads for one workspace at a
// time. Those that come later keep theirs in the cache.
const layersMost = 8

// layers are folders over the stores. They are beside the cache, where no
// command can write: what is in their place is trusted. They belong to one
// program at a time, as long as lock is open.
func (w *SandboxWorkspace) layers(list []store) (layers []confine.Layer, lock *os.File) {
	base, err := realPath(w.opts.Cache)
	if base = CacheLayers(base); w.opts.Cache == "" || err != nil || within(w.policy.Write, base) {
		return nil, nil
	}
	for n := range layersMost {
		dir := filepath.Join(base, strconv.Itoa(n))
		if os.MkdirAll(dir, 0o700) != nil {
			return nil, nil
		}
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, nil
		}
		if flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil {
			return over(dir, list), f
		}
		f.Close()
	}
	return nil, nil
}

// over makes the folders of layers below dir.
func over(dir string, list []store) (layers []confine.Layer) {
	for _, s := range list {
		l := confine.Layer{Path: s.path, Upper: filepath.Join(dir, s.name, "upper"), Work: filepath.Join(dir, s.name, "work")}
		if s.path != "" && !s.open && os.MkdirAll(l.Upper, 0o700) == nil && os.MkdirAll(l.Work, 0o700) == nil {
			layers = append(layers, l)
		}
	}
	return layers
}

// elsewhere are variables that lead to the stores: to those with a layer, and
// to folders of their own for the others. What the user has of Go modules is
// then a place to download from.
func elsewhere(env []string, list []store, layered []string, cache string) (vars []string) {
	for _, s := range list {
		if s.path != "" && (s.open || slices.Contains(layered, s.path)) {
			vars = append(vars, s.variable+"="+s.path)
			continue
		}
		vars = append(vars, s.variable+"="+filepath.Join(cache, s.name))
		if s.name != "go-mod" || s.path == "" {
			continue
		}
		if proxy := goValue(env, "GOPROXY"); proxy != "" {
			vars = append(vars, "GOPROXY=file://"+filepath.ToSlash(filepath.Join(s.path, "cache", "download"))+","+proxy)
		}
	}
	return vars
}
