// Package config is the one place where settings come from: it reads flags,
// the environment and files, and says which of them won.
//
// Precedence, strongest first: flag, environment, the user's config.env, the
// user's settings.json, the project's settings.local.json, the project's
// settings.json. A folder's .env comes below the environment and config.env.
// Nothing of the folder counts before the user trusts it. The provider, its
// address, credentials, the permission mode and the sandbox are never taken
// from a project's settings.
//
// Nothing here reads the process's own environment: it is part of [Input].
package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"oneloop"
	"oneloop/model/catalog"
	"oneloop/policy"
	"oneloop/prompt"
)

// Input is all that settings are made of.
type Input struct {
	Flags   Flags
	Environ []string // as os.Environ gives it
	Dir     string   // the folder that is worked in, absolute
	Like    string   // the folder that Dir is a worktree of; see [policy.TrustOptions]

	// Ask is used for the question whether the folder is trusted. Nil means
	// that nobody is there to answer it.
	Ask oneloop.Ask
	// Question words that question; nil: [policy.TrustQuestion].
	Question func(dir string, found []policy.Finding) oneloop.Question
}

// Flags are the flags that settings depend on. Empty means not given.
type Flags struct {
	Model          string
	Fallback       string // another model
	Effort         string
	PermissionMode string
	Sandbox        string
	WebSearch      string   // "true" or "false"
	Memory         string   // the same
	Bell           string   // as [ParseBell] reads it
	AllowedTools   string   // rules that allow, separated by commas
	AddDirs        []string // further folders of the workspace
	Trust          bool     // use what the folder brings along without a question, this once
}

// Settings is what was decided. Printing it or turning it into JSON shows no
// credential.
type Settings struct {
	Model      Model         `json:"model"`  // an empty name: the catalogue's default
	Effort     string        `json:"effort"` // empty: the model's own default
	BaseURL    string        `json:"base_url,omitempty"`
	APIVersion string        `json:"api_version,omitempty"` // empty: the adapter's choice
	Key        Secret        `json:"key"`                   // goes into x-api-key
	Token      Secret        `json:"token"`                 // goes into authorization; at most one of the two is set
	Mode       policy.Mode   `json:"permission_mode"`
	Sandbox    string        `json:"sandbox"`           // "auto" or "none"
	WebSearch  bool          `json:"web_search"`        // the API may search the web by itself
	Memory     bool          `json:"memory"`            // notes are kept from one session to the next
	Bell       time.Duration `json:"bell_ns,omitempty"` // how long somebody must have waited for it to ring; 0: it never does
	Language   string        `json:"language"`          // "en" or "zh"
	MaxRetries int           `json:"max_retries"`
	RetryDelay time.Duration `json:"retry_delay_ns"` // the first wait

	IdleTimeout     time.Duration `json:"idle_timeout_ns"`     // no byte on the stream
	ProgressTimeout time.Duration `json:"progress_timeout_ns"` // only pings on the stream
	BackgroundWait  time.Duration `json:"background_wait_ns"`  // for what runs in the background when a task is done
	ContextWindow   int64         `json:"context_window"`      // tokens; 0: the catalogue's number

	ConfigDir string `json:"config_dir"` // may not exist; empty: there is no place for it
	StateDir  string `json:"state_dir"`  // can be written, and made (0700) if need be; empty: nothing is kept

	// Permissions are the rules, file by file: of the flag, the user, the
	// folder. [Load] has seen that they can be understood.
	Permissions []policy.File `json:"permissions,omitempty"`

	// Dirs are further folders of the workspace, by their real paths. Nothing
	// in them is read for settings.
	Dirs []string `json:"additional_directories,omitempty"`

	// Network is what the settings say of the sandbox's network.
	Network policy.Network `json:"-"`

	// Limits are those of each command in the sandbox.
	Limits Limits `json:"limits,omitzero"`

	// Hooks are those of the user's settings, then those of the folder's.
	Hooks []policy.HookCommand `json:"-"`

	// Trusted is what of the folder may be used. Nothing else of it may be
	// read for what it says.
	Trusted *policy.Trusted `json:"-"`

	// Instructions are those of the user and of the folder. What of the folder
	// may be used says Trusted, by the names of the files.
	Instructions *prompt.Instructions `json:"-"`

	// From says where a setting came from, by its JSON name: "--model",
	// "ANTHROPIC_API_KEY", a file's path. What is missing is a default.
	From map[string]string `json:"from"`

	// Notices are what the user should know, each one line.
	Notices []string `json:"notices,omitempty"`

	// Fallback is asked when Model stays overloaded; an empty name: nobody is.
	Fallback Model `json:"fallback_model,omitzero"`

	// Book is the catalogue with what the user's models.json says.
	Book *catalog.Book `json:"-"`

	// Picked: no model is named, and Model is the usual one of the only
	// provider that is set up. The user is told.
	Picked bool `json:"picked,omitempty"`

	// Undecided says, where no model is named, why none can be chosen.
	Undecided *UndecidedError `json:"-"`

	access  []Access
	hiding  sync.Mutex
	secrets []string
}

// HasCredential reports whether there is all that is needed to ask the model.
func (s *Settings) HasCredential() bool {
	a, ok := s.Access(s.Model.Provider)
	return ok && a.Configured()
}

// Secrets returns the value of every credential that was seen, also of those
// that are not used, so that they can be kept from commands and masked.
func (s *Settings) Secrets() []string {
	s.hiding.Lock()
	defer s.hiding.Unlock()
	return slices.Clone(s.secrets)
}

// String is the JSON of s.
func (s *Settings) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		return "settings: " + err.Error()
	}
	return string(b)
}

// loader carries what the steps of Load share.
type loader struct {
	Input
	env     map[string]string // without empty values
	user    map[string]string // config.env, in the same way
	folder  map[string]string // .env, once it is trusted
	home    string            // absolute, or empty
	config  string            // the user's config file, for messages
	dotenv  string            // the folder's .env, for messages
	out     *Settings
	broken  error // why .env could not be read
	project []*file
	own     *file
}

// Load decides all settings. Its errors are an [*Error], which knows the exit
// code, or the cause of ctx. It asks at most one question, whether what the
// folder brings along is trusted.
func Load(ctx context.Context, in Input) (*Settings, error) {
	l := &loader{Input: in, env: environ(in.Environ), out: &Settings{
		Mode: policy.Default, Sandbox: "auto",
		MaxRetries: 8, RetryDelay: 500 * time.Millisecond,
		IdleTimeout: 5 * time.Minute, ProgressTimeout: 10 * time.Minute, BackgroundWait: 10 * time.Minute,
		From: map[string]string{},
	}}
	l.findDirs()
	for _, step := range []func() error{
		l.readUserEnv,
		l.readOwn,
		func() error { return l.trust(ctx) },
		l.readProject,
		l.hooks,
		l.hosts,
		l.limitCommands,
		l.credentials,
		l.network,
		l.providers,
		l.model,
		l.fallback,
		l.permissions,
		l.addDirs,
		l.rules,
		l.search,
		l.memory,
		l.bell,
		l.times,
		l.language,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return l.out, nil
}

func (l *loader) notice(format string, args ...any) {
	l.out.Notices = append(l.out.Notices, oneLine(fmt.Sprintf(format, args...)))
}

// value is a setting with where it came from.
type value struct{ text, from string }

// variable looks a name up in the environment and in config.env.
func (l *loader) variable(name string) (value, bool) {
	if v, ok := l.env[name]; ok {
		return value{v, name}, true
	}
	if v, ok := l.user[name]; ok {
		return value{v, l.config}, true
	}
	return value{}, false
}

// set records where a setting came from.
func (l *loader) set(name string, v value) string {
	l.out.From[name] = v.from
	return v.text
}
