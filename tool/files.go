package tool

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"oneloop"
	"oneloop/internal/text"
	"oneloop/workspace"
)

// FilesOptions are the settings of [NewFiles].
type FilesOptions struct {
	Cap      int    // characters of a file in a result of Read; 0: 50,000
	SpillDir string // for a file without a name that keeps what is too much for memory; empty: the system's temporary folder

	// Overwrite lets Write replace a file that was never read. The zero value
	// refuses it: a model that has not looked may not know that there is one.
	Overwrite bool
}

const (
	// mostWhole is how large a file may be, in bytes, to be read as a whole
	// when some lines of it are asked for.
	mostWhole = 16 << 20
	// mostEdit is how large a file may be to be changed. Three times as much
	// memory is used.
	mostEdit = 128 << 20
)

// Files are the tools on the files of a workspace and what one agent knows of
// these files. The tools may be used from several goroutines; two changes of
// one file are made one after the other.
//
// A file that somebody else changed after the agent read it is not changed:
// the answer says what is different. Somebody else is whoever is neither one
// of these tools, nor those of a [Files.Child], nor a tool in [Files.Watch], nor what is run
// while [Files.Watching].
type Files struct {
	ws     workspace.Workspace
	opts   FilesOptions
	info   workspace.Info
	shared *record

	mu    sync.Mutex
	known map[string]*known // by real path
}

// NewFiles returns the tools for the files of ws. Close ends their use.
func NewFiles(ws workspace.Workspace, opts FilesOptions) *Files {
	if opts.Cap <= 0 {
		opts.Cap = 50_000
	}
	return &Files{
		ws: ws, opts: opts, info: ws.Describe(), known: map[string]*known{},
		shared: &record{
			seed: maphash.MakeSeed(), shelf: shelf{dir: opts.SpillDir},
			busy: map[string]*turn{}, latest: map[string]uint64{}, firsts: map[string]*first{}, outputs: map[string]fs.FileInfo{},
		},
	}
}

// Child returns the tools for another agent that works for this one. It knows
// nothing of the files yet. Its changes are in this one's Diff.
func (f *Files) Child() *Files {
	return &Files{ws: f.ws, opts: f.opts, info: f.info, known: map[string]*known{}, shared: f.shared}
}

// Close gives back the disk space that is used. Neither these tools nor those
// of a child may be used after it.
func (f *Files) Close() error { return f.shared.shelf.close() }

// known is what an agent knows of a file.
type known struct {
	version
	kept   *kept // the content; nil when it is too large
	unseen bool  // a command or hook of the agent's own changed it since it was read
}

// version identifies the content of a file.
type version struct {
	sum    uint64
	size   int64
	form   text.Form
	info   fs.FileInfo
	looked time.Time // when info was got
}

// record is what the agents of one session share.
type record struct {
	seed  maphash.Seed
	shelf shelf

	mu     sync.Mutex
	busy   map[string]*turn
	latest map[string]uint64 // content that one of the agents wrote last, by real path
	firsts map[string]*first

	outputs map[string]fs.FileInfo // files outside of the workspace that Read may show

	admitted []string // real paths of folders of such
}

// first is a file as it was before any agent changed it.
type first struct {
	kept   *kept
	absent bool
}

// turn is whose turn it is to change a file.
type turn struct {
	sync.Mutex
	waiting int
}

// lock waits until nobody else changes the file.
func (r *record) lock(path string) (unlock func()) {
	r.mu.Lock()
	t := r.busy[path]
	if t == nil {
		t = &turn{}
		r.busy[path] = t
	}
	t.waiting++
	r.mu.Unlock()
	t.Lock()
	return func() {
		t.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(r.busy, path)
		}
	}
}

// before keeps what a file was, the first time it is changed.
func (r *record) before(path string, absent bool, content func() *kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.firsts[path] == nil {
		r.firsts[path] = &first{content(), absent}
	}
}

func (r *record) wrote(path string, sum uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest[path] = sum
}

func (r *record) isLatest(path string, sum uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.latest[path]
	return ok && last == sum
}

// path gives the real path of a file that is to be read or changed.
func (f *Files) path(name string) (string, error) {
	if name == "" {
		return "", errors.New("file_path is empty: give the path of a file")
	}
	path, err := f.ws.Files().Resolve(name)
	if err != nil {
		return "", f.explain(name, err)
	}
	return path, nil
}

// target is path for a file that is to be changed. What it leads to was judged
// before; a link that came between is no way to a protected file.
func (f *Files) target(name string) (string, error) {
	path, err := f.path(name)
	if err != nil {
		return "", err
	}
	said := name
	if !filepath.IsAbs(said) {
		said = filepath.Join(f.info.Root, said)
	}
	if f.info.Protected(path) && !f.info.Protected(filepath.Clean(said)) {
		return "", fmt.Errorf("%s is a link to the protected file %s, nothing was changed. If that file is meant, name it by that path", name, path)
	}
	return path, nil
}

// touches tells what a call with a field file_path would touch.
func (f *Files) touches(kind oneloop.TouchKind) func(*oneloop.ToolUse) ([]oneloop.Touch, error) {
	return func(call *oneloop.ToolUse) ([]oneloop.Touch, error) {
		var in struct {
			FilePath string `json:"file_path"`
		}
		if err := decode(call.Input, &in); err != nil {
			return nil, err
		}
		path, err := f.path(in.FilePath)
		if err != nil {
			return nil, err
		}
		return []oneloop.Touch{{Kind: kind, Name: path}}, nil
	}
}

// show is the path of a file as people and models read it.
func (f *Files) show(path string) string {
	if rel, err := filepath.Rel(f.info.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// explain says what an error means and what to try.
func (f *Files) explain(name string, err error) error {
	var what error = err
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		what = pe.Err
	}
	switch {
	case errors.Is(err, workspace.ErrOutside):
		return fmt.Errorf("%s: %w. %s", name, what, elsewhere(f.info, name))
	case errors.Is(err, workspace.ErrNotRegular):
		return fmt.Errorf("%s: %w. It was not opened; use Bash if it must be read", name, what)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist.%s", name, f.similar(name))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w. Look at its owner and mode with ls -l", name, what)
	}
	return fmt.Errorf("%s: %w", name, what)
}

// elsewhere says what to do about a file outside of the workspace.
func elsewhere(info workspace.Info, name string) string {
	if info.Sandbox != "none" && filepath.IsAbs(name) {
		for _, tmp := range []string{"/tmp", os.TempDir()} {
			if rel, err := filepath.Rel(tmp, name); err == nil && filepath.IsLocal(rel) {
				return "Commands have a temporary folder of their own, which only they see: read what is in it with a command (cat, sed -n), or keep it in the workspace"
			}
		}
	}
	return "Tools on files work in the workspace and in folders that the user adds with --add-dir"
}

// similar names what there is instead of a file that is missing.
func (f *Files) similar(name string) string {
	const most = 5
	dir, base := filepath.Split(name)
	if dir == "" {
		dir = "."
	}
	list, err := f.ws.Files().ReadDir(dir)
	if err != nil {
		return fmt.Sprintf(" Neither does its folder. Relative paths begin at %s", f.info.Root)
	}
	var found []string
	key := strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base)))
	for _, e := range list {
		other := strings.ToLower(e.Name())
		if key != "" && len(found) < most && (strings.Contains(other, key) || strings.TrimSuffix(other, filepath.Ext(other)) != "" && strings.Contains(key, strings.TrimSuffix(other, filepath.Ext(other)))) {
			found = append(found, e.Name())
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf(" Relative paths begin at %s", f.info.Root)
	}
	return " In the same folder there is: " + strings.Join(found, ", ")
}

// errTooLarge is the end of reading a file of more bytes than are wanted.
var errTooLarge = errors.New("too large")

// open opens a regular file.
func (f *Files) open(path string) (fs.File, fs.FileInfo, error) {
	file, err := f.ws.Files().Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errFolder
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

var errFolder = errors.New("it is a folder, not a file. List it with Glob, or with ls in Bash")

// load reads a whole file of at most limit bytes. With errTooLarge the info is
// valid.
func (f *Files) load(path string, limit int64) ([]byte, version, error) {
	file, info, err := f.open(path)
	if err != nil {
		return nil, version{}, err
	}
	defer file.Close()
	v := version{info: info, size: info.Size(), looked: time.Now()}
	if info.Size() > limit {
		return nil, v, errTooLarge
	}
	// One more than the size: the end is found without making room for more.
	b := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := b.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, v, err
	}
	raw := b.Bytes()
	if int64(len(raw)) > limit {
		return nil, v, errTooLarge
	}
	v.size, v.sum = int64(len(raw)), maphash.Bytes(f.shared.seed, raw)
	v.form = f.form(path, raw, v.sum)
	return raw, v, nil
}

// form is how a file is written. Content that is known is not guessed again:
// after a change another guess could fit it.
func (f *Files) form(path string, raw []byte, sum uint64) text.Form {
	f.mu.Lock()
	k := f.known[path]
	f.mu.Unlock()
	if k != nil && k.sum == sum && k.kept != nil {
		return k.form
	}
	return text.Detect(raw)
}

// learn remembers what the agent knows of a file now.
func (f *Files) learn(path string, k *known) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.known[path]; old != nil {
		old.kept.drop()
	}
	f.known[path] = k
}

// forget is the end of a file.
func (f *Files) forget(path string) (was *known) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if was = f.known[path]; was != nil {
		was.kept.drop()
		delete(f.known, path)
	}
	return was
}

// gone says, for the model, why a file that is not there is not made anew:
// somebody else took it away. It says so once.
func (f *Files) gone(path string) error {
	if f.forget(path) == nil {
		return nil
	}
	return fmt.Errorf("%s was deleted or moved by somebody else since you read it, so nothing was changed. Look for it; to make it anew, Write it once more", f.show(path))
}

func (f *Files) knows(path string) *known {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[path]
}

// changed says, for the model, why a file that is now v may not be changed:
// somebody else did so. The note is about a change that is no reason.
func (f *Files) changed(path string, v version, raw []byte) (refuse error, note string) {
	k := f.knows(path)
	switch {
	case k == nil:
		return nil, ""
	case k.sum == v.sum && k.size == v.size:
		if k.unseen {
			note = "a command or hook had changed the file since you read it"
		}
		return nil, note
	case f.shared.isLatest(path, v.sum):
		return nil, "another agent had changed the file since you read it"
	}
	old, err := k.kept.get()
	if err != nil {
		return fmt.Errorf("%s was changed by somebody else since you read it (it had %s bytes and has %s), so nothing was changed. Read it again",
			f.show(path), grouped(k.size), grouped(v.size)), ""
	}
	diff := text.Compare(text.New(old, k.form).Text, text.New(raw, v.form).Text, short)
	said := cutDiff(diff)
	if diff.Text == "" {
		said = "(only line ends or the encoding differ)\n"
	}
	if !diff.Cut {
		// Now it knows: the same call again is no mistake.
		f.learn(path, &known{version: v, kept: f.shared.shelf.put(raw)})
		return fmt.Errorf("%s was changed by somebody else since you read it, so nothing was changed. What they did:\n%sTake that into account and call again", f.show(path), said), ""
	}
	return fmt.Errorf("%s was changed by somebody else since you read it, so nothing was changed. What they did:\n%sRead it again", f.show(path), said), ""
}

// save writes a file that had the content old, absent if there was none, and
// takes note of all that follows.
func (f *Files) save(path string, absent bool, old []byte, was version, raw []byte, form text.Form) (workspace.Replaced, error) {
	r := f.shared
	sum := make(chan uint64, 1)
	go func() { sum <- maphash.Bytes(r.seed, raw) }() // beside the disk
	done, err := f.ws.Files().Replace(path, raw, 0)
	v := version{sum: <-sum, size: int64(len(raw)), form: form}
	if err != nil {
		return done, err
	}
	r.before(path, absent, func() *kept {
		if k := f.knows(path); k != nil && k.sum == was.sum && k.kept != nil && !absent {
			return k.kept.share()
		}
		return r.shelf.put(old)
	})
	v.info, err = f.ws.Files().Stat(path)
	v.looked = time.Now()
	if err != nil {
		v.info = nil // to be looked at again
	}
	r.wrote(path, v.sum)
	f.learn(path, &known{version: v, kept: r.shelf.put(raw)})
	if done.InPlace && was.info != nil {
		f.sameFile(path, was.info, v, raw)
	}
	return done, nil
}

// sameFile takes note of a change for the other names of a file.
func (f *Files) sameFile(path string, info fs.FileInfo, v version, raw []byte) {
	f.mu.Lock()
	var others []string
	for p, k := range f.known {
		if p != path && k.info != nil && os.SameFile(k.info, info) {
			others = append(others, p)
		}
	}
	f.mu.Unlock()
	for _, p := range others {
		f.shared.wrote(p, v.sum)
		f.learn(p, &known{version: v, kept: f.shared.shelf.put(raw)})
	}
}

// paths are the files the agent knows, sorted.
func (f *Files) paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.known))
}
