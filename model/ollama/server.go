package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"oneloop/internal/wire"
)

// Server is an Ollama server as it describes itself.
//
// One that has Messages can be spoken to in the Messages API at its base URL
// with any key. There the context cannot be asked for: it is what the server
// was started with (OLLAMA_CONTEXT_LENGTH), or what the model was made with
// (PARAMETER num_ctx in its Modelfile). What does not fit is cut off in silence,
// so whoever uses it asks [Server.Held] how much it holds and keeps below that.
type Server struct {
	Version string
	Models  []Local

	base   string
	header http.Header
	client *http.Client
}

// Local is a model that a server has.
type Local struct {
	Name string
	Size int64 // bytes
	Held int   // tokens of context, when it is loaded; 0: it is not, or the server does not say
}

// Info is what a server says of a model. Known is false when it said nothing
// of what the model can do.
type Info struct {
	Context int // tokens that it was made for; 0: unknown
	NumCtx  int // tokens that its Modelfile asks for; 0: none
	Family  string

	Known, Tools, Thinking, Vision bool
}

// Probe asks the server at base, which may be what OLLAMA_HOST holds, for its
// version and its models. No single question waits longer than ten seconds.
func Probe(ctx context.Context, base string) (*Server, error) {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	s := &Server{base: Address(base), header: http.Header{"User-Agent": {"oneloop"}}, client: wire.Client(&http.Client{Transport: t})}
	return s, s.Refresh(ctx)
}

// Refresh asks again.
func (s *Server) Refresh(ctx context.Context) error {
	var version struct{ Version string }
	if err := s.ask(ctx, http.MethodGet, "api/version", nil, &version); err != nil {
		return err
	}
	if version.Version == "" {
		return fmt.Errorf("ollama: what answers at %s is no Ollama server: it has no version", s.base)
	}
	var tags struct {
		Models []struct {
			Name, Model string
			Size        int64
		}
	}
	if err := s.ask(ctx, http.MethodGet, "api/tags", nil, &tags); err != nil {
		return err
	}
	held := s.held(ctx)
	s.Version, s.Models = version.Version, nil
	for _, m := range tags.Models {
		if m.Name == "" {
			m.Name = m.Model
		}
		s.Models = append(s.Models, Local{Name: m.Name, Size: m.Size, Held: held[m.Name]})
	}
	return nil
}

// Base is the base URL of the server.
func (s *Server) Base() string { return s.base }

// Messages reports whether the server speaks the Messages API, too.
func (s *Server) Messages() bool { return atLeast(s.Version, 0, 14) }

// atLeast reports whether a version is that or a later one.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	b, _ := strconv.Atoi(strings.TrimRight(parts[1], "-abcdefghijklmnopqrstuvwxyz"))
	return a > major || a == major && b >= minor
}

// Show asks for what is known of a model.
func (s *Server) Show(ctx context.Context, model string) (Info, error) {
	body, err := json.Marshal(map[string]string{"model": model, "name": model}) // "name" is the older word
	if err != nil {
		return Info{}, err
	}
	var said struct {
		Parameters   string
		Capabilities []string
		Details      struct{ Family string }
		Model        map[string]json.RawMessage `json:"model_info"`
	}
	if err := s.ask(ctx, http.MethodPost, "api/show", body, &said); err != nil {
		return Info{}, err
	}
	info := Info{Family: said.Details.Family, Known: len(said.Capabilities) > 0}
	for name, value := range said.Model {
		if strings.HasSuffix(name, ".context_length") {
			if json.Unmarshal(value, &info.Context) != nil { // not a number: it is not known
				info.Context = 0
			}
		}
		if name == "general.architecture" && info.Family == "" {
			info.Family = strings.Trim(string(value), `"`)
		}
	}
	for line := range strings.Lines(said.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			info.NumCtx, _ = strconv.Atoi(f[1])
		}
	}
	for _, c := range said.Capabilities {
		info.Tools = info.Tools || c == "tools"
		info.Thinking = info.Thinking || c == "thinking"
		info.Vision = info.Vision || c == "vision"
	}
	return info, nil
}

// Held is the number of tokens that the server holds of a conversation with a
// model; 0 when the model is not loaded or the server does not say.
func (s *Server) Held(ctx context.Context, model string) int {
	held := s.held(ctx)
	if n := held[model]; n > 0 || strings.Contains(model, ":") {
		return n
	}
	return held[model+":latest"]
}

// held is what the loaded models have; none when the server does not tell.
func (s *Server) held(ctx context.Context) map[string]int {
	var said struct {
		Models []struct {
			Name    string
			Context int `json:"context_length"`
		}
	}
	if s.ask(ctx, http.MethodGet, "api/ps", nil, &said) != nil {
		return nil
	}
	held := map[string]int{}
	for _, m := range said.Models {
		held[m.Name] = m.Context
	}
	return held
}

const (
	maxAnswer  = 16 << 20 // bytes
	askTimeout = 10 * time.Second
)

// ask sends one request about the server and reads its answer.
func (s *Server) ask(ctx context.Context, method, path string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	u, err := wire.Endpoint(s.base, path)
	if err != nil {
		return fmt.Errorf("ollama: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return fmt.Errorf("ollama: make request: %w", err)
	}
	req.Header = s.header
	if body != nil {
		wire.SetBody(req, [][]byte{body})
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("ollama: ask %s: %w", wire.SafeURL(u), err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, wire.Printable(data, 200))
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("ollama: ask %s: %w", wire.SafeURL(u), err)
	}
	return nil
}

// Address is the base URL that people mean: a URL, or what OLLAMA_HOST holds,
// such as "127.0.0.1", ":11434" or "example.com:1234". The address that a server
// listens on everywhere with ("0.0.0.0") stands for this machine.
func Address(host string) string {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	if host == "" {
		return DefaultBaseURL
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	at, path, _ := strings.Cut(rest, "/")
	name, port, err := net.SplitHostPort(at)
	if err != nil {
		name, port = strings.Trim(at, "[]"), ""
		if !ok {
			port = "11434"
		}
	}
	switch name {
	case "", "0.0.0.0":
		name = "127.0.0.1"
	case "::":
		name = "::1"
	}
	u := url.URL{Scheme: scheme, Host: name}
	if port != "" {
		u.Host = net.JoinHostPort(name, port)
	} else if strings.Contains(name, ":") {
		u.Host = "[" + name + "]"
	}
	out := u.String()
	path = strings.TrimSuffix(strings.TrimSuffix("/"+path, "/"), "/v1")
	return out + strings.TrimSuffix(path, "/api")
}
