package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

var update = flag.Bool("update", false, "write the READMEs' generated parts anew")

const root = "../.."

var (
	readmes    = []string{"README.md", "README.zh-CN.md"}
	modelPages = []string{"docs/models.md", "docs/models.zh-CN.md"}
)

// fill puts text into the block between <!-- name… --> and <!-- /name -->.
func fill(t *testing.T, readme, name, fence, text string) string {
	t.Helper()
	block := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^>]* -->\n).*?(<!-- /` + name + ` -->)`)
	if !block.MatchString(readme) {
		t.Fatalf("there is no block %q", name)
	}
	return block.ReplaceAllStringFunc(readme, func(old string) string {
		m := block.FindStringSubmatch(old)
		return m[1] + "```" + fence + "\n" + strings.TrimSpace(text) + "\n```\n" + m[2]
	})
}

// run of the demo: the steps that are the same on every machine, without the
// line of costs, which counts the length of a temporary folder's name.
func demoPicture(t *testing.T, lang string) string {
	t.Helper()
	cmd := exec.Command("oneloop", "demo", "--yes")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "ONELOOP_LANG=" + lang}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	steps := regexp.MustCompile(`(?m)^(Step|第) ?\d`).FindAllIndex(out, -1)
	if len(steps) != 8 {
		t.Fatalf("%d steps in\n%s", len(steps), out)
	}
	costs := regexp.MustCompile(`(?m)^.*\$0\.\d+.*\n`)
	picture := "$ oneloop demo\n…\n"
	for _, i := range []int{0, 4} {
		picture += strings.TrimSpace(costs.ReplaceAllString(string(out[steps[i][0]:steps[i+1][0]]), "")) + "\n…\n"
	}
	return picture
}

// ownTool is the part of tool's example that the READMEs show.
func ownTool(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join(root, "tool/example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?s)(type words .*?)\nfunc ExampleNew.*?(tool\.New\(.*?\)),\n`).FindSubmatch(data)
	if parts == nil {
		t.Fatal("the example of tool is not as it is shown")
	}
	return fmt.Sprintf("%s\ntools := &oneloop.Toolbox{Tools: []oneloop.Tool{%s}}", parts[1], parts[2])
}

// typedAnswer is the part of tool's example that the pages on models show.
func typedAnswer(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join(root, "tool/example_answer_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?s)(type forecast .*?\n}\n).*?\n\n(\tanswer, err := .*?)\tfmt\.Printf`).FindSubmatch(data)
	if parts == nil {
		t.Fatal("the example of AnswerOf is not as it is shown")
	}
	return fmt.Sprintf("%s\n%s", parts[1], strings.ReplaceAll(strings.TrimPrefix(string(parts[2]), "\t"), "\n\t", "\n"))
}

func TestTheReadmesShowNoOtherAnswerThanTheModelPages(t *testing.T) {
	for _, name := range modelPages {
		path := filepath.Join(root, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := fill(t, string(data), "answer", "go", typedAnswer(t))
		if want == string(data) {
			continue
		}
		if !*update {
			t.Errorf("%s does not show the example of tool; `make readme` writes it anew", name)
			continue
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheReadmesShowWhatTheProgramDoes(t *testing.T) {
	example, err := os.ReadFile(filepath.Join(root, "examples/ten/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range readmes {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		lang := "en"
		if strings.Contains(name, "zh") {
			lang = "zh"
		}
		want := fill(t, string(data), "demo", "", demoPicture(t, lang))
		want = fill(t, want, "example", "go", string(example))
		want = fill(t, want, "own", "go", ownTool(t))
		if want == string(data) {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the program does; `make readme` writes it anew", name)
			continue
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// commands are the lines of a README's shell blocks, without comments.
func commands(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(data), -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, " #")
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestEveryCommandOfTheReadmesWorks(t *testing.T) {
	oneloop, err := exec.LookPath("oneloop")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, name := range readmes {
		p := newProduct(t, func() script.Reply { r := say("ok"); r.Repeat = true; return r }())
		if err := os.Mkdir(filepath.Join(p.dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(oneloop, filepath.Join(p.dir, "bin/oneloop")); err != nil {
			t.Fatal(err)
		}
		for _, line := range commands(t, name) {
			if target, ok := strings.CutPrefix(line, "make "); ok {
				// .ci/run runs these; here only that they exist.
				if !strings.Contains(string(makefile), "\n"+target+":") {
					t.Errorf("%s: no %s in the Makefile", name, line)
				}
				continue
			}
			if strings.HasPrefix(line, "export ") || line == "bin/oneloop" {
				continue // a conversation is the business of the terminal's tests
			}
			cmd := exec.Command("bash", "-c", "git init -q . && set -o pipefail && "+line)
			cmd.Dir, cmd.Env = p.dir, p.env
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "ok") && !strings.HasPrefix(line, "eval ") {
				t.Errorf("%s: %s: %v\n%s", name, line, err, out)
			}
			ran++
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands were run; are the shell blocks still found?", ran)
	}
	fmt.Fprintf(t.Output(), "%d commands\n", ran)
}

func TestEveryPageIsFoundFromTheReadmes(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(err)
	}
	for _, readme := range readmes {
		text, err := os.ReadFile(filepath.Join(root, readme))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range pages {
			page, chinese := filepath.Base(path), strings.Contains(readme, "zh-CN")
			if strings.HasSuffix(page, ".zh-CN.md") {
				continue
			}
			if _, err := os.Stat(strings.TrimSuffix(path, ".md") + ".zh-CN.md"); err == nil && chinese {
				page = strings.TrimSuffix(page, ".md") + ".zh-CN.md"
			}
			if !strings.Contains(string(text), "(docs/"+page+")") {
				t.Errorf("%s does not lead to docs/%s", readme, page)
			}
		}
	}
}
