// Package examples_test builds the examples and runs them, as programs of
// their own, against a scripted and strict Messages API.
package examples_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

// build builds a main package and returns the program.
func build(t *testing.T, dir, pkg string, env ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "example")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	// Without paths what is compiled does not depend on where the repository
	// is, and is shared with the other tests that build programs.
	cmd := exec.Command("go", "build", "-trimpath", "-o", program, pkg)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return program
}

// run is one run of a program against a server.
type run struct {
	program string
	args    []string
	input   string
	dir     string // empty: a new folder
}

// against runs the program and checks that the API had nothing to object to.
func (r run) against(t *testing.T, replies ...script.Reply) (stdout, stderr string, got []script.Request) {
	t.Helper()
	server := script.New(replies...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if r.dir == "" {
		r.dir = t.TempDir()
	}
	cmd := exec.CommandContext(t.Context(), r.program, r.args...)
	cmd.Dir = r.dir
	cmd.Stdin = strings.NewReader(r.input)
	cmd.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=key-of-the-test")
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	if err := errors.Join(err, server.Check()); err != nil {
		t.Fatalf("%v\nstdout: %s\nstderr: %s", err, &out, &log)
	}
	return out.String(), log.String(), server.Requests()
}

// result returns what the model was told of a call.
func result(t *testing.T, r script.Request, id string) script.Content {
	t.Helper()
	c, ok := r.Result(id)
	if !ok {
		t.Fatalf("request %d does not answer call %s", r.N, id)
	}
	return c
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestWeatherAsksTheToolAndAnswersInChinese(t *testing.T) {
	const answer = "北京今天晴，25°C，很适合出门。"
	out, _, got := run{program: build(t, ".", "./weather")}.against(t,
		script.Say(script.Text("我查一下。"), script.Tool("t1", "get_weather", `{"city":"上海"}`)),
		script.Say(script.Tool("t2", "get_weather", `{"city":"北京"}`)),
		script.Say(script.Text(answer)),
	)
	equal(t, "printed", out, answer+"\n")
	equal(t, "system prompt", got[0].SystemText(), "你是一名旅游顾问。回答前先用工具查询实时天气，不要猜测。")
	equal(t, "question", got[0].FirstText(), "今天北京的天气怎么样？适合出门游玩吗？")
	if c := result(t, got[1], "t1"); !c.IsError || !strings.Contains(c.FullText(), "没有“上海”的天气数据") {
		t.Errorf("an unknown city was answered with %+v", c)
	}
	equal(t, "weather", result(t, got[2], "t2").FullText(), "北京：晴，25°C，微风 2 级")
}

func TestClockAnswersTwoCallsInOneTurnAndOutlivesWrongOnes(t *testing.T) {
	const answer = "现在三点，100°C 是 212°F。"
	out, _, got := run{program: build(t, ".", "./clock")}.against(t,
		script.Say(
			script.Tool("t1", "get_current_time", `{}`),
			script.Tool("t2", "convert_units", `{"value":100,"from_unit":"celsius","to_unit":"fahrenheit"}`)),
		script.Say(
			script.Tool("t3", "convert_units", `{"value":1,"from_unit":"parsec","to_unit":"km"}`),
			script.Tool("t4", "get_tide", `{}`),
			script.Tool("t5", "convert_units", `{"value":2,"from_unit":"kg","to_unit":"km"}`),
			script.Tool("t6", "convert_units", `{"value":2,"from_unit":"kg","to_unit":"lb"}`)),
		script.Say(script.Text(answer)),
	)
	equal(t, "printed", out, answer+"\n")
	if c := result(t, got[1], "t1"); c.IsError || !strings.Contains(c.FullText(), "T") {
		t.Errorf("the time was answered with %+v", c)
	}
	equal(t, "conversion", result(t, got[1], "t2").FullText(), "100 celsius = 212.0000 fahrenheit")
	for id, want := range map[string]string{
		"t3": "cannot convert parsec to km",
		"t4": `there is no tool named "get_tide"`,
		"t5": "cannot convert kg to km",
	} {
		if c := result(t, got[2], id); !c.IsError || !strings.Contains(c.FullText(), want) {
			t.Errorf("call %s was answered with %+v, want an error with %q", id, c, want)
		}
	}
	equal(t, "conversion beside errors", result(t, got[2], "t6").FullText(), "2 kg = 4.4092 lb")
}

func TestAustinTellsTheModelOfAFailureAndGoesOn(t *testing.T) {
	const answer = "Shorts, a light shirt and a hat."
	out, log, got := run{program: build(t, ".", "./austin")}.against(t,
		script.Say(script.Tool("t1", "get_weather", `{"city":"Austin"}`)),
		script.Say(script.Tool("t2", "get_weather", `{"city":"Austin"}`)),
		script.Say(script.Text(answer)),
	)
	equal(t, "printed", out, answer+"\n")
	if c := result(t, got[1], "t1"); !c.IsError || c.FullText() != "the weather station did not answer; call again" {
		t.Errorf("the failing call was answered with %+v", c)
	}
	if c := result(t, got[2], "t2"); c.IsError || c.FullText() != "Austin: 95°F (35°C), sunny, no wind" {
		t.Errorf("the second call was answered with %+v", c)
	}
	equal(t, "log lines", strings.Join(strings.SplitAfter(log, "\n"), "|"),
		`get_weather{"city":"Austin"} → the weather station did not answer; call again`+"\n|"+
			`get_weather{"city":"Austin"} → Austin: 95°F (35°C), sunny, no wind`+"\n|")
}

func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("not run: there is no bash here")
	}
}

func TestBashHoldsAConversationAndRunsCommands(t *testing.T) {
	needBash(t)
	dir := t.TempDir()
	r := run{program: build(t, ".", "./bash"), dir: dir, input: "make hello.txt\nwhat is in it?\nexit\nnever sent\n"}
	out, _, got := r.against(t,
		script.Say(script.Tool("t1", "Bash", `{"command":"echo hello > hello.txt"}`)),
		script.Say(script.Text("Made.")),
		script.Say(script.Tool("t2", "Bash", `{"command":"cat hello.txt"}`), script.Tool("t3", "Bash", `{"command":"mkfs ./no-such-disk"}`)),
		script.Say(script.Text("It says hello.")),
	)
	for _, want := range []string{`$ {"command":"cat hello.txt"}` + "\nhello\n", "Made.\n> ", "It says hello.\n> "} {
		if !strings.Contains(out, want) {
			t.Errorf("printed %q, want %q in it", out, want)
		}
	}
	if file, err := os.ReadFile(filepath.Join(dir, "hello.txt")); string(file) != "hello\n" {
		t.Errorf("the file holds %q, %v", file, err)
	}
	if len(got) != 4 || len(got[3].Messages) != 7 {
		t.Fatalf("%d requests, the last with %d messages", len(got), len(got[len(got)-1].Messages))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !strings.Contains(got[0].SystemText(), real) {
		t.Errorf("the system prompt is %q, want %s in it", got[0].SystemText(), real)
	}
	// On the danger list, and harmless where that fails.
	if c := result(t, got[3], "t3"); !c.IsError || !strings.Contains(c.FullText(), "mkfs") || strings.Contains(c.FullText(), "exit code") {
		t.Errorf("a command of the danger list was answered with %q", c.FullText())
	}
}

// checkTen runs "an agent in ten lines".
func checkTen(t *testing.T, program string) {
	needBash(t)
	out, _, got := run{program: program, args: []string{"how", "much", "is", "6*7?"}}.against(t,
		script.Say(script.Tool("t1", "Bash", `{"command":"echo $((6*7)); env | grep -c key-of-the-test"}`)),
		script.Say(script.Text("42")),
	)
	equal(t, "printed", out, "42\n")
	equal(t, "question", got[0].FirstText(), "how much is 6*7?")
	if text := result(t, got[1], "t1").FullText(); !strings.HasPrefix(text, "42\n0\n") {
		t.Errorf("the command gave %q, want 42 and no key in its environment", text)
	}
}

func TestTenIsAnAgent(t *testing.T) { checkTen(t, build(t, ".", "./ten")) }

// outside are the commands with which a README makes a program of its reader's
// own.
func outside(t *testing.T, readme string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", readme))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "<!-- outside: ")
	_, block, _ = strings.Cut(block, "```bash\n")
	block, _, ended := strings.Cut(block, "```\n<!-- /outside -->")
	if !found || !ended {
		t.Fatalf("%s: there is no block \"outside\"", readme)
	}
	return block
}

func TestTheReadmesCommandsMakeAProgramOutsideOfTheRepository(t *testing.T) {
	needBash(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"CGO_ENABLED": "0", "GOWORK": "off",
		"GOFLAGS": "-trimpath", // as in build
		// What the program needs this module has already. A reader's go command
		// would look at the checksum database; a test asks nobody.
		"GOPROXY": "off", "GOSUMDB": "off",
	} {
		t.Setenv(name, value)
	}
	for _, readme := range []string{"README.md", "README.zh-CN.md"} {
		dir := t.TempDir()
		if err := os.Symlink(root, filepath.Join(dir, "oneloop")); err != nil {
			t.Fatal(err)
		}
		out, _, got := run{program: "bash", args: []string{"-ec", outside(t, readme)}, dir: dir}.against(t,
			script.Say(script.Tool("t1", "Bash", `{"command":"ls | wc -l; env | grep -c key-of-the-test"}`)),
			script.Say(script.Text("3")),
		)
		equal(t, readme+": printed", out, "3\n")
		if text := strings.Join(strings.Fields(result(t, got[1], "t1").FullText()), " "); !strings.HasPrefix(text, "3 0") {
			t.Errorf("%s: the command gave %q, want 3 files and no key in its environment", readme, text)
		}
		if q := got[0].FirstText(); !strings.Contains(outside(t, readme), `go run . "`+q+`"`) {
			t.Errorf("%s: the model was asked %q", readme, q)
		}
	}
}

func TestExamplesAreShort(t *testing.T) {
	files, err := filepath.Glob("*/main.go")
	if err != nil || len(files) != 5 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n >= 60 {
			t.Errorf("%s has %d lines, want under 60", name, n)
		}
		if !bytes.Contains(text, []byte("func main() {\n\tworkspace.Helper()\n")) {
			t.Errorf("%s does not call workspace.Helper first", name)
		}
	}
}
