package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oneloop/looptest/script"
	"oneloop/looptest/wires"
)

func TestModelsShowsNoCredentialWhereverItStands(t *testing.T) {
	key := "key-that-nobody-sees"
	var address string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if r.URL.Query().Get("api-version") == "" {
			t.Errorf("%s: the query of the address is gone", address)
		}
		fmt.Fprintf(c, "HTTP/1.1 401 no %s\r\nContent-Length: 0\r\n\r\n", key)
	}))
	defer server.Close()
	p := newProduct(t)
	address = server.URL + "/v1?api-version=1&key=secret-in-the-query"
	p.env = append(p.env, "ANTHROPIC_API_KEY=", "DEEPSEEK_API_KEY="+key, "DEEPSEEK_BASE_URL="+address, "OLLAMA_HOST=http://me:secret-of-mine@127.0.0.1:1")
	for _, args := range [][]string{{"models"}, {"models", "--json"}, {"models", "deepseek"}} {
		o := p.run(args...)
		if o.code != exitDone || !strings.Contains(o.stdout, "401") || strings.Contains(o.stdout+o.stderr, key) || strings.Contains(o.stdout+o.stderr, "secret-") {
			t.Errorf("%v: %d: %s %s", args, o.code, o.stdout, o.stderr)
		}
	}
}

func TestWhatAFileSaysOfAModelReachesTheAPI(t *testing.T) {
	p := newProduct(t)
	var mu sync.Mutex
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/api/show") {
			w.Write([]byte(`{"capabilities":["completion","vision"]}`))
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		asked = string(body)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	settings := p.settings(`{"providers":{
		"chat":{"baseURL":"` + server.URL + `"}, "responses":{"baseURL":"` + server.URL + `","api":"openai-responses"},
		"messages":{"baseURL":"` + server.URL + `","api":"anthropic"}, "google":{"baseURL":"` + server.URL + `","api":"gemini","headers":{"X-Goog-Api-Key":"k-of-google"}},
		"llama":{"baseURL":"` + server.URL + `","api":"ollama"}}}`)
	var blind, sees []string
	apis := []string{"chat", "responses", "messages", "google", "llama"}
	for _, api := range apis {
		blind = append(blind, `{"id":"`+api+`/blind","images":false,"reasoning":false}`)
		sees = append(sees, `{"id":"`+api+`/sees","images":true,"reasoning":true,"efforts":["low"]}`)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(settings), "models.json"), []byte(`{"models":[`+strings.Join(append(blind, sees...), ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	p.puts("dot.png", dot.String())
	for _, api := range apis {
		for model, seen := range map[string]bool{"blind": false, "sees": true} {
			p.run("--model", api+"/"+model, "--effort", "low", "--image", "dot.png", "what is this?")
			mu.Lock()
			got := asked
			mu.Unlock()
			if strings.Contains(got, "iVBORw0KGgo") != seen || strings.Contains(got, "stood here") == seen {
				t.Errorf("%s/%s was sent %.300s", api, model, got)
			}
			low := strings.ToLower(got)
			if effort := strings.Contains(low, `"low"`) || api == "google" && strings.Contains(low, "thinking"); api != "llama" && effort != seen {
				t.Errorf("%s/%s, asked for an effort: %v: %.300s", api, model, effort, got)
			}
		}
	}
	if o := p.run("models", "chat"); o.code != exitDone || !strings.Contains(o.stdout, "(low)") {
		t.Errorf("%d: %s%s", o.code, o.stdout, o.stderr)
	}
}

func TestAHintNamesWhatIsSetOfTheProviderThatWasAsked(t *testing.T) {
	p := newProduct(t)
	var answer atomic.Value
	answer.Store(`401{"error":"no"}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := answer.Load().(string)
		status, err := strconv.Atoi(text[:3])
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		io.WriteString(w, text[3:])
	}))
	defer server.Close()
	p.env = append(p.env, "KEY_OF_MINE=key-of-mine", "DEEPSEEK_API_KEY=key-of-deepseek", "DEEPSEEK_BASE_URL="+server.URL)
	p.settings(`{"providers":{"mine":{"baseURL":"` + server.URL + `","api":"openai-responses","keyVariable":"KEY_OF_MINE"},
		"printed":{"baseURL":"` + server.URL + `","keyCommand":["echo","a-key"]}, "llama":{"baseURL":"` + server.URL + `","api":"ollama"}}}`)
	says := func(model string, want ...string) {
		t.Helper()
		o := p.run("--model", model, "hi")
		for _, w := range append(want, model[:strings.IndexByte(model, '/')]) {
			if !strings.Contains(strings.ToLower(o.stderr), strings.ToLower(w)) {
				t.Errorf("%s: no %q in %s", model, w, o.stderr)
			}
		}
		if o.code == exitDone || strings.Contains(o.stderr, "ANTHROPIC_") || strings.Contains(o.stderr, "Messages API") {
			t.Errorf("%s: %d: %s", model, o.code, o.stderr)
		}
	}
	says("mine/m", "(KEY_OF_MINE, providers.mine.baseURL)")
	says("printed/m", "(providers.printed, providers.printed.baseURL)")
	says("deepseek/deepseek-v4-pro", "(DEEPSEEK_API_KEY, DEEPSEEK_BASE_URL)")
	answer.Store(`404{"error":"no"}`)
	says("llama/m", "There is no model llama/m")
	answer.Store("404<p>nothing here")
	says("llama/m", "is not the Ollama API", "providers.llama.baseURL")
	says("mine/m", "is not the Responses API", "providers.mine.baseURL")
}

func TestModelsListsWhatIsSetUpAndWhatAnswers(t *testing.T) {
	slow := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /deepseek/v1/models", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key-of-deepseek" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		w.Write([]byte(`{"data":[{"id":"deepseek-v4-pro"},{"id":"deepseek-of-tomorrow"}]}`))
	})
	mux.HandleFunc("GET /gemini/v1beta/models", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	mux.HandleFunc("/elsewhere", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the key went on: %v", r.Header) })
	mux.HandleFunc("GET /mine/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"data":[{"id":"big","context_length":64000}]}`))
	})
	mux.HandleFunc("GET /slow/models", func(http.ResponseWriter, *http.Request) { <-slow })
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(slow)
	p := newProduct(t)
	p.env = append(p.env, "ANTHROPIC_API_KEY=", "DEEPSEEK_API_KEY=key-of-deepseek", "DEEPSEEK_BASE_URL="+server.URL+"/deepseek/v1",
		"GEMINI_API_KEY=key-of-gemini", "GEMINI_BASE_URL="+server.URL+"/gemini/v1beta", "ONELOOP_MODEL=big", "OLLAMA_HOST=127.0.0.1:1")
	p.settings(`{"providers":{"mine":{"baseURL":"` + server.URL + `/mine"},"slow":{"baseURL":"` + server.URL + `/slow","models":["snail"]}}}`)
	began := time.Now()
	o := p.run("models", "--json")
	if o.code != exitDone || time.Since(began) > 30*time.Second {
		t.Fatalf("%d after %v: %s", o.code, time.Since(began), o.stderr)
	}
	var got struct{ Providers []listed }
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil {
		t.Fatal(err)
	}
	found := map[string]listed{}
	for _, l := range got.Providers {
		found[l.Name] = l
	}
	if d := found["deepseek"]; !d.Reachable || len(d.Models) < 2 || d.Models[0].ID != "deepseek-v4-pro" || !d.Models[0].Served || d.Models[0].Price == nil || d.Models[1].Served {
		t.Errorf("deepseek: %+v", d)
	}
	if g := found["gemini"]; g.Reachable || !g.Configured || !strings.Contains(g.Error, "302") {
		t.Errorf("gemini: %+v", g)
	}
	if m := found["mine"]; !m.Reachable || len(m.Models) != 1 || m.Models[0].Context != 64000 || m.Models[0].Price != nil || m.Models[0].Images != nil {
		t.Errorf("mine: %+v", m)
	}
	if s := found["slow"]; s.Reachable || !strings.Contains(s.Error, "no answer within") || s.Models[0].ID != "snail" {
		t.Errorf("slow: %+v", s)
	}
	if o := found["openai"]; o.Configured || o.Reachable {
		t.Errorf("openai: %+v", o)
	}
	o = p.run("models", "deepseek")
	for _, want := range []string{"deepseek/deepseek-v4-pro", "1M / 384k", "≤ $1.32 / $3.96", "deepseek/deepseek-of-tomorrow", "price unknown", "images ?", "not in its list now"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
	if strings.Contains(o.stdout+o.stderr, "key-of") {
		t.Error("a key is shown")
	}
	if o := p.run("models", "nobody"); o.code != exitUsage || !strings.Contains(o.stderr, "deepseek") {
		t.Errorf("%d: %s", o.code, o.stderr)
	}
}

// second starts another provider's server beside the product's.
func (p *product) second(w *script.Wire, replies ...script.Reply) *script.Server {
	p.t.Helper()
	s := script.New(replies...)
	s.Wire = w
	if err := s.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := s.Check(); err != nil {
			p.t.Error(err)
		}
		s.Close()
	})
	return s
}

func TestWhenTheModelStaysOverloadedAnotherGoesOnWithTheTurn(t *testing.T) {
	busy := script.Fail(529, "overloaded_error", "busy")
	p := newProduct(t, script.Say(script.Tool("t1", "Bash", `{"command":"echo from the first"}`)), busy, busy)
	other := p.second(wires.Chat(wires.DeepSeek), script.Say(script.Tool("t2", "Bash", `{"command":"echo from the second"}`)), say("done by the second"))
	p.env = append(p.env, "ONELOOP_MAX_RETRIES=1", "DEEPSEEK_API_KEY=key-of-deepseek", "DEEPSEEK_BASE_URL="+other.URL())
	o := p.run("--fallback-model", "deepseek-v4-pro", "--model", "claude-sonnet-4-6", "--output-format", "stream-json", "go on")
	if o.code != exitDone || !strings.Contains(o.stdout, "done by the second") || !strings.Contains(o.stderr, "deepseek/deepseek-v4-pro goes on") {
		t.Fatalf("%d: %s\n%s", o.code, o.stdout, o.stderr)
	}
	if got := other.Requests(); len(got) != 2 || !strings.Contains(string(got[0].Body), "from the first") || len(p.server.Requests()) != 3 {
		t.Errorf("%d and %d requests", len(p.server.Requests()), len(got))
	}
	if o := p.run("--fallback-model", "glm-5.3", "go on"); o.code != exitUsage || !strings.Contains(o.stderr, "ZAI_API_KEY") {
		t.Errorf("a fallback without a key: %d: %s", o.code, o.stderr)
	}
}

func TestCaseProv03EveryProviderIsFoundByAnyShapeOfItsAddress(t *testing.T) {
	for _, c := range []struct {
		model, key, address string
		wire                *script.Wire
		shapes              []string
	}{
		{"openai/gpt-6.1-sol", "OPENAI_API_KEY", "OPENAI_BASE_URL", wires.Chat(wires.OpenAI), []string{"", "/", "/v1", "/v1/"}},
		{"openai-responses/gpt-6.1-sol", "OPENAI_API_KEY", "OPENAI_BASE_URL", wires.Responses(), []string{"", "/v1/"}},
		{"kimi/kimi-k3", "MOONSHOT_API_KEY", "MOONSHOT_BASE_URL", wires.Chat(wires.Kimi), []string{"/v1"}},
		{"gemini/gemini-2.5-flash", "GEMINI_API_KEY", "GEMINI_BASE_URL", wires.Gemini(), []string{"", "/", "/v1beta", "/v1beta/"}},
		{"ollama/qwen3:8b", "OLLAMA_API_KEY", "OLLAMA_HOST", wires.Ollama(wires.OllamaServer{}), []string{"", "/"}},
	} {
		p := newProduct(t)
		other := p.second(c.wire, script.Reply{Blocks: []script.Block{script.Text("found")}, Repeat: true})
		for _, shape := range c.shapes {
			p.env = append(p.env, c.key+"= key-of-it\n", c.address+"="+other.URL()+shape)
			if o := p.run("--model", c.model, "hello"); o.code != exitDone || !strings.Contains(o.stdout, "found") {
				t.Errorf("%s at %q: %d %s", c.model, shape, o.code, o.stderr)
			}
		}
		for _, r := range other.Requests() {
			n := 0
			for _, h := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
				if v := r.Header.Get(h); v != "" {
					if n++; strings.TrimPrefix(v, "Bearer ") != "key-of-it" {
						t.Errorf("%s: %s is %q", c.model, h, v)
					}
				}
			}
			if n != 1 {
				t.Errorf("%s: %d credentials in %v", c.model, n, r.Header)
			}
		}
	}
}

func TestARefusedKeyIsNamedByItsVariable(t *testing.T) {
	p := newProduct(t)
	other := p.second(wires.Chat(wires.DeepSeek), script.Fail(401, "authentication_error", "no"))
	p.env = append(p.env, "DEEPSEEK_API_KEY=key-of-it", "DEEPSEEK_BASE_URL="+other.URL())
	if o := p.run("--model", "deepseek/deepseek-v4-pro", "hello"); !strings.Contains(o.stderr, "DEEPSEEK_API_KEY") || strings.Contains(o.stderr, "ANTHROPIC") {
		t.Errorf("%d: %s", o.code, o.stderr)
	}
}

func TestTheWindowOfAnOllamaIsWhatTheServerGives(t *testing.T) {
	for _, c := range []struct {
		has  int
		env  string
		file string // models.json
		want string
	}{
		{0, "", "", "32768"},
		{16_384, "", "", "16384"},
		{16_384, "ONELOOP_CONTEXT_WINDOW=64000", "", "16384"},
		{0, "ONELOOP_CONTEXT_WINDOW=64000", "", "64000"},
		{0, "", `{"models":[{"id":"ollama/scripted-model:latest","context":48000}]}`, "48000"},
		{16_384, "", `{"models":[{"id":"ollama/scripted-model:latest","context":48000}]}`, "16384"},
	} {
		p := newProduct(t)
		other := p.second(wires.Ollama(wires.OllamaServer{Context: c.has}), say("here"))
		p.env = append(p.env, "ANTHROPIC_API_KEY=", "OLLAMA_HOST="+other.URL(), c.env)
		if c.file != "" {
			p.settings("{}")
			if err := os.WriteFile(filepath.Join(p.home(), ".config", "oneloop", "models.json"), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if o := p.run("--output-format", "json", "hello"); o.code != exitDone || !strings.Contains(o.stdout, `"contextWindow":`+c.want+`,`) {
			t.Errorf("%+v: %d %s%s", c, o.code, o.stdout, o.stderr)
		}
		if got := string(other.Requests()[0].Body); !strings.Contains(got, `"num_ctx":`+c.want) {
			t.Errorf("%+v: %s", c, got)
		}
		if o := p.run("models", "--json", "ollama"); !strings.Contains(o.stdout, `"id":"scripted-model:latest","context":`+c.want+`,`) {
			t.Errorf("%+v: %s", c, o.stdout)
		}
	}
}

func TestTheWindowOfALocalServerIsWhatItWasStartedWith(t *testing.T) {
	mux := http.NewServeMux()
	tell := func(path, text string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) })
	}
	tell("/vllm/v1/models", `{"data":[{"id":"m","max_model_len":16384}]}`)
	tell("/llamacpp/v1/models", `{"data":[{"id":"m","meta":{"n_ctx_train":131072}}]}`)
	tell("/llamacpp/props", `{"default_generation_settings":{"n_ctx":16384}}`)
	tell("/lmstudio/v1/models", `{"data":[{"id":"m"}]}`)
	tell("/lmstudio/api/v0/models", `{"data":[{"id":"other","loaded_context_length":7},{"id":"m","loaded_context_length":16384,"max_context_length":131072}]}`)
	tell("/old/v1/models", `{"data":[{"id":"m"}]}`)
	asked := make(chan string, 10)
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		asked <- string(data)
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"here"},"finish_reason":"stop"}]}`))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, c := range []struct{ provider, at, env, window, reply string }{
		{"vllm", "vllm", "", "16384", "4096"},
		{"llamacpp", "llamacpp", "", "16384", "4096"},
		{"lmstudio", "lmstudio", "", "16384", "4096"},
		{"llamacpp", "old", "", "200000", "8192"},
		{"llamacpp", "old", "ONELOOP_CONTEXT_WINDOW=8000", "8000", "2000"},
	} {
		p := newProduct(t)
		p.env = append(p.env, "ANTHROPIC_API_KEY=", strings.ToUpper(c.provider)+"_BASE_URL="+server.URL+"/"+c.at+"/v1", c.env)
		o := p.run("--model", c.provider+"/m", "--output-format", "json", "hello")
		if o.code != exitDone || !strings.Contains(o.stdout, `"contextWindow":`+c.window+`,`) {
			t.Errorf("%+v: %d %s%s", c, o.code, o.stdout, o.stderr)
			continue
		}
		if got := <-asked; !strings.Contains(got, `"max_tokens":`+c.reply) {
			t.Errorf("%+v: %s", c, got)
		}
		if o := p.run("models", "--json", c.provider); c.window == "16384" && !strings.Contains(o.stdout, `"id":"m","context":`+c.window+`,`) {
			t.Errorf("%+v: %s", c, o.stdout)
		}
	}
}
