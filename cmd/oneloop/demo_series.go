package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"oneloop/looptest/script"
)

// chapterScene is the demo of a chapter: one task that needs what it adds.
func chapterScene(name string) scene {
	switch name {
	case "s01":
		return bashScene()
	case "s02":
		return filesScene()
	case "s03":
		return planScene()
	case "s04":
		return agentsScene()
	case "s05":
		return skillScene()
	case "s06":
		return summaryScene()
	}
	return backgroundScene()
}

// call is a reply that makes one call.
func call(text, id, tool string, input map[string]any) script.Reply {
	raw, _ := json.Marshal(input) // strings, numbers and lists of them always encode
	made := script.Tool(id, tool, string(raw))
	if text == "" {
		return script.Say(made)
	}
	return script.Say(script.Text(text), made)
}

func bashScene() scene {
	const prompt = "How many lines of notes.txt speak of bread? Write the number into bread.txt."
	return scene{prompt: prompt, files: map[string]string{"notes.txt": "buy bread\ncall Ada\nbread again\n"}, routes: []route{{prompt, script.Turns(
		bash("", "toolu_s01_1", "cat notes.txt"),
		bash("", "toolu_s01_2", "grep -c bread notes.txt > bread.txt; cat bread.txt"),
		said(func(r []script.Content) string { return "bread.txt says " + first(r) + "." }),
	)}}}
}

func filesScene() scene {
	const prompt = "greet.sh should greet by name."
	return scene{prompt: prompt, files: map[string]string{"greet.sh": "#!/bin/sh\necho \"Hello.\"\n"}, routes: []route{{prompt, script.Turns(
		call("", "toolu_s02_1", "Read", map[string]any{"file_path": "greet.sh"}),
		call("", "toolu_s02_2", "Edit", map[string]any{"file_path": "greet.sh", "old_string": `"Hello."`, "new_string": `"Hello, ${1:-you}."`}),
		call("I add a test, and run it:", "toolu_s02_3", "Write", map[string]any{"file_path": "greet_test.sh", "content": "test \"$(sh greet.sh Ada)\" = \"Hello, Ada.\" && echo pass\n"}),
		call("", "toolu_s02_4", "Bash", map[string]any{"command": "sh greet_test.sh"}),
		said(func(r []script.Content) string { return "greet.sh greets by name; the test says: " + first(r) }),
	)}}}
}

// folderIn is the folder that a loaded skill names.
func folderIn(text string) string {
	_, rest, _ := strings.Cut(text, `folder="`)
	folder, _, _ := strings.Cut(rest, `"`)
	return folder
}

// plan is the list of the plan scene with so many items done.
func plan(done int) map[string]any {
	var list []map[string]string
	for i, what := range []string{"write the table", "sort it by size", "say which is the largest"} {
		status := "pending"
		switch {
		case i < done:
			status = "completed"
		case i == done:
			status = "in_progress"
		}
		list = append(list, map[string]string{"content": what, "status": status})
	}
	return map[string]any{"todos": list}
}

func planScene() scene {
	const prompt = "Make a table of the planets' diameters, sorted, and tell me the largest."
	table := `printf 'Earth 12742\nMars 6779\nJupiter 139820\nVenus 12104\n' > planets.txt`
	return scene{prompt: prompt, routes: []route{{prompt, script.Turns(
		call("Three steps; I write them down.", "toolu_s03_1", "TodoWrite", plan(0)),
		call("", "toolu_s03_2", "Bash", map[string]any{"command": table}),
		call("", "toolu_s03_3", "Bash", map[string]any{"command": "sort -k2 -n -r planets.txt > sorted.txt"}),
		call("", "toolu_s03_4", "Bash", map[string]any{"command": "cat sorted.txt"}),
		script.Reply{React: func(r script.Request) script.Reply {
			text := "I go on."
			if strings.Contains(r.Last().Text(), "<reminder>") {
				text = "Behind the results of the third round there is a reminder that my list is old. So:"
			}
			return call(text, "toolu_s03_5", "TodoWrite", plan(2))
		}},
		call("", "toolu_s03_6", "Bash", map[string]any{"command": "head -n 1 sorted.txt"}),
		script.Reply{React: func(r script.Request) script.Reply {
			return call("The largest is "+first(r.Results())+" km.", "toolu_s03_7", "TodoWrite", plan(3))
		}},
		script.Say(script.Text("Done; sorted.txt has them all.")),
	)}}}
}

func agentsScene() scene {
	const (
		prompt = "Which of the two reports names more bugs?"
		parser = "Count the lines that begin with BUG in parser.txt. Answer with the number alone."
		writer = "Count the lines that begin with BUG in writer.txt. Answer with the number alone."
	)
	counting := func(n int, file string) script.Reply {
		return script.Turns(
			call("", fmt.Sprintf("toolu_s04_count_%d", n), "Bash", map[string]any{"command": "grep -c ^BUG " + file}),
			said(func(r []script.Content) string { return first(r) }),
		)
	}
	start := func(n int, what, prompt string) script.Block {
		raw, _ := json.Marshal(map[string]string{"description": what, "prompt": prompt})
		return script.Tool(fmt.Sprintf("toolu_s04_%d", n), "Agent", string(raw))
	}
	return scene{prompt: prompt,
		files: map[string]string{
			"parser.txt": "BUG empty input\nnote: slow\nBUG quotes\nBUG line ends\n",
			"writer.txt": "BUG no newline at the end\nnote: fine else\n",
		},
		routes: []route{
			{parser, counting(1, "parser.txt")},
			{writer, counting(2, "writer.txt")},
			{prompt, script.Turns(
				script.Say(script.Text("One agent for each, both at once:"), start(1, "count in parser.txt", parser), start(2, "count in writer.txt", writer)),
				said(func(r []script.Content) string {
					if len(r) < 2 {
						return "I got one answer only."
					}
					return fmt.Sprintf("parser.txt names %s, writer.txt %s.", answerIn(r[0]), answerIn(r[1]))
				}),
			)},
		}}
}

func backgroundScene() scene {
	const prompt = "Run the long check, and tell me meanwhile how long the notes are."
	return scene{prompt: prompt,
		files: map[string]string{"check.sh": "sleep 1\necho 12 checks passed\n", "notes.txt": "one\ntwo\nthree\n"},
		routes: []route{{prompt, script.Turns(
			call("The check runs in the background:", "toolu_s08_1", "Bash", map[string]any{"command": "sh check.sh", "run_in_background": true}),
			call("", "toolu_s08_2", "Bash", map[string]any{"command": "wc -l < notes.txt"}),
			said(func(r []script.Content) string {
				return "notes.txt has " + first(r) + " lines. I am done until the check is."
			}),
			script.Reply{React: func(r script.Request) script.Reply {
				text := "Nobody told me anything."
				if strings.Contains(r.Last().Text(), "The background command bash_1") {
					text = "Nobody typed that: I was told that it has ended, and go on."
				}
				return call(text, "toolu_s08_3", "TaskOutput", map[string]any{"task_id": "bash_1"})
			}},
			said(func(r []script.Content) string {
				lines := strings.Split(strings.TrimSpace(first(r)), "\n")
				return "The check says: " + lines[len(lines)-1] + "."
			}),
		)}}}
}

// answerIn is what an agent said, without the session that stands behind it.
func answerIn(r script.Content) string {
	answer, _, _ := strings.Cut(r.FullText(), "[agent session ")
	return strings.TrimSpace(answer)
}

// releaseSkill is the skill of the skill scene, and releaseScript a program that
// it brings along.
const (
	releaseSkill = `---
name: release-notes
description: How release notes are written here. Use it before you write any.
---
1. Run scripts/changes.sh, which lists what has changed.
2. Write RELEASE.md: a line for each change that a user would notice, as "- Mends …" or "- Adds …".
3. Leave out what only we notice.
`
	releaseScript = "sort changes.txt | uniq\n"
)

func skillScene() scene {
	const prompt = "Write the release notes."
	return scene{prompt: prompt,
		files: map[string]string{"changes.txt": "add --json\nmend the crash on empty input\nrename a variable\nadd --json\n"},
		own:   map[string]string{"skills/release-notes/SKILL.md": releaseSkill, "skills/release-notes/scripts/changes.sh": releaseScript},
		routes: []route{{prompt, script.Turns(
			call("There is a skill for that:", "toolu_s05_1", "Skill", map[string]any{"skill": "release-notes"}),
			script.Reply{React: func(r script.Request) script.Reply {
				return call("", "toolu_s05_2", "Bash", map[string]any{"command": "sh " + strconv.Quote(folderIn(first(r.Results()))) + "/scripts/changes.sh"})
			}},
			call("", "toolu_s05_3", "Write", map[string]any{"file_path": "RELEASE.md", "content": "- Adds --json\n- Mends the crash on empty input\n"}),
			said(func([]script.Content) string { return "RELEASE.md has the two changes that a user would notice." }),
		)}}}
}

// narrowWindow is the window of the summary scene, in tokens.
const narrowWindow = 16_000

func summaryScene() scene {
	const prompt = "Look at the four logs, and say which has the word ERROR in it."
	logs := map[string]string{}
	for i := range 4 {
		line := fmt.Sprintf("12:00:%02d service %d is well\n", i, i+1)
		logs[fmt.Sprintf("log%d.txt", i+1)] = strings.Repeat(line, 450)
	}
	logs["log3.txt"] += "12:09:59 ERROR service 3 is not\n"
	seen := 0
	model := func(r script.Request) script.Reply {
		if strings.Contains(r.Last().Text(), "Write that summary now") {
			found := "none of them has the word ERROR"
			if strings.Contains(string(r.Body), "ERROR service 3") {
				found = "log3.txt has a line: 12:09:59 ERROR service 3 is not"
			}
			return script.Say(script.Text(fmt.Sprintf("The user wants to know which of four logs has the word ERROR. Read so far: log1.txt to log%d.txt; %s. Left: the rest, and the answer.", seen, found)))
		}
		if seen == len(logs) {
			answer := "I cannot say."
			if strings.Contains(string(r.Body), "ERROR service 3 is not") {
				answer = "log3.txt has it; I know that from the summary."
			}
			return script.Say(script.Text(answer))
		}
		seen++
		return call("", fmt.Sprintf("toolu_s06_%d", seen), "Bash", map[string]any{"command": fmt.Sprintf("cat log%d.txt", seen)})
	}
	return scene{prompt: prompt, window: narrowWindow, files: logs, routes: []route{{"", script.Reply{Repeat: true, React: model}}}}
}
