package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/tool"
)

// scene is one part of the demo: a prompt, and what the scripted model does
// with it. Everything else in it is real. Titles are in the language tables.
type scene struct {
	prompt string
	system string            // empty: the seeds' own
	tools  []oneloop.Tool    // nil: bash
	files  map[string]string // in the folder before
	own    map[string]string // in the folder of the user's settings
	window int               // of the model, in tokens; 0: its own
	routes []route
}

// route is what the model says in conversations that begin with a text.
type route struct {
	begins  string
	replies script.Reply
}

// said makes a reply out of what the last calls really gave.
func said(answer func(results []script.Content) string) script.Reply {
	return script.Reply{React: func(r script.Request) script.Reply {
		return script.Say(script.Text(answer(r.Results())))
	}}
}

// bash is a reply that calls the one tool of the seeds' agent.
func bash(text, id, command string) script.Reply {
	input, _ := json.Marshal(map[string]string{"command": command}) // strings always encode
	call := script.Tool(id, "bash", string(input))
	if text == "" {
		return script.Say(call)
	}
	return script.Say(script.Text(text), call)
}

// first is the text of the first result, which the model quotes.
func first(results []script.Content) string {
	if len(results) == 0 {
		return ""
	}
	return strings.TrimSpace(results[0].FullText())
}

func scenes() []scene {
	return []scene{helloScene(), listScene(), branchScene(), folderScene(), weatherScene(), clockScene(), austinScene(), subtaskScene()}
}

func helloScene() scene {
	const prompt = `Create a file called hello.py that prints "Hello, World!"`
	return scene{prompt: prompt, routes: []route{{prompt, script.Turns(
		bash("", "toolu_hello_1", `echo 'print("Hello, World!")' > hello.py`),
		bash("The file is written. I look at what is in it:", "toolu_hello_2", `cat hello.py && wc -c hello.py`),
		said(func(r []script.Content) string { return "hello.py is there and says: " + firstLine(first(r)) }),
	)}}}
}

func firstLine(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }

func listScene() scene {
	const prompt = "List all Python files in this directory"
	return scene{prompt: prompt, routes: []route{{prompt, script.Turns(
		bash("", "toolu_list_1", `find . -name '*.py' -type f | sort`),
		said(func(r []script.Content) string {
			files := strings.Fields(first(r))
			return fmt.Sprintf("%d Python file(s): %s", len(files), strings.Join(files, ", "))
		}),
	)}}}
}

func branchScene() scene {
	const prompt = "What is the current git branch?"
	return scene{prompt: prompt, routes: []route{{prompt, script.Turns(
		bash("", "toolu_branch_1", `git branch --show-current`),
		bash("That failed: the folder is no repository yet. I make it one and look again.", "toolu_branch_2",
			`git init -q -b main . && git branch --show-current`),
		said(func(r []script.Content) string { return "git says: " + first(r) }),
	)}}}
}

func folderScene() scene {
	const prompt = "Create a directory called test_output and write 3 files in it"
	return scene{prompt: prompt, routes: []route{{prompt, script.Turns(
		bash("", "toolu_folder_1", `mkdir -p test_output && for i in 1 2 3; do echo "file $i" > test_output/file$i.txt; done; ls test_output`),
		said(func(r []script.Content) string {
			return "test_output holds " + strings.Join(strings.Fields(first(r)), ", ") + "."
		}),
	)}}}
}

type cityInput struct {
	City string `json:"city" jsonschema:"城市名"`
}

func weatherScene() scene {
	const prompt = "北京今天天气怎么样？适合旅游吗？"
	weather := tool.New("get_weather", "获取指定城市的当前天气", func(_ context.Context, in cityInput) (string, error) {
		return in.City + "今天晴天，气温25°C，风力2级。", nil
	})
	return scene{
		prompt: prompt, tools: []oneloop.Tool{weather},
		system: "你是一个旅游助手，可以调用天气工具来获取实时天气信息。",
		routes: []route{{prompt, script.Turns(
			script.Say(script.Text("我先查询一下北京的天气情况。"), script.Tool("toolu_weather_1", "get_weather", `{"city":"北京"}`)),
			said(func(r []script.Content) string { return first(r) + "天气很好，非常适合旅游！" }),
		)}},
	}
}

type unitsInput struct {
	Value float64 `json:"value" jsonschema:"要换算的数值"`
	From  string  `json:"from_unit" jsonschema:"原单位，如 km、kg、celsius"`
	To    string  `json:"to_unit" jsonschema:"目标单位，如 mile、lb、fahrenheit"`
}

func clockScene() scene {
	const prompt = "现在几点了？另外帮我把 100 摄氏度换算成华氏度。"
	clock := tool.New("get_current_time", "返回当前的本地时间（ISO 格式）", func(context.Context, struct{}) (string, error) {
		return time.Now().Format("2006-01-02T15:04:05"), nil
	})
	units := tool.New("convert_units", "在摄氏与华氏温度之间换算", func(_ context.Context, in unitsInput) (string, error) {
		switch {
		case in.From == "celsius" && in.To == "fahrenheit":
			return fmt.Sprintf("%g %s = %.4f %s", in.Value, in.From, in.Value*9/5+32, in.To), nil
		case in.From == "fahrenheit" && in.To == "celsius":
			return fmt.Sprintf("%g %s = %.4f %s", in.Value, in.From, (in.Value-32)*5/9, in.To), nil
		}
		return "", fmt.Errorf("不支持 %s → %s 的换算；可用的单位是 celsius 和 fahrenheit", in.From, in.To)
	})
	return scene{
		prompt: prompt, tools: []oneloop.Tool{clock, units},
		system: "你是一个助手，用工具回答关于时间和单位的问题。",
		routes: []route{{prompt, script.Turns(
			script.Say(
				script.Tool("toolu_clock_1", "get_current_time", `{}`),
				script.Tool("toolu_clock_2", "convert_units", `{"value":100,"from_unit":"celsius","to_unit":"fahrenheit"}`)),
			said(func(r []script.Content) string {
				if len(r) < 2 {
					return "只得到了一个结果。"
				}
				return "现在是 " + first(r) + "；" + strings.TrimSpace(r[1].FullText()) + "。"
			}),
		)}},
	}
}

func austinScene() scene {
	const prompt = "What should I wear in Austin today?"
	calls := 0
	weather := tool.New("get_weather", "Get the current weather for a city.", func(_ context.Context, in cityInput) (string, error) {
		if calls++; calls == 1 {
			return "", errors.New("the weather station does not answer; try once more")
		}
		return "Weather in " + in.City + ": 95F, sunny", nil
	})
	return scene{
		prompt: prompt, tools: []oneloop.Tool{weather},
		system: "You help people decide what to wear.",
		routes: []route{{prompt, script.Turns(
			script.Say(script.Tool("toolu_austin_1", "get_weather", `{"city":"Austin"}`)),
			script.Say(script.Text("The station failed. Once more:"), script.Tool("toolu_austin_2", "get_weather", `{"city":"Austin"}`)),
			said(func(r []script.Content) string { return first(r) + ". Light clothes, a hat and sun cream." }),
		)}},
	}
}

func subtaskScene() scene {
	const (
		prompt = "Ask two fresh agents at once: how long is hello.py, and what is in test_output?"
		length = "Say how many bytes hello.py has"
		inside = "Say what is in test_output"
	)
	return scene{prompt: prompt, routes: []route{
		{prompt, script.Turns(
			bash("Each gets a conversation of its own:", "toolu_sub_1", fmt.Sprintf("oneloop %q > a.txt & oneloop %q > b.txt & wait; cat a.txt b.txt", length, inside)),
			said(func(r []script.Content) string { return "They answered:\n" + first(r) }),
		)},
		{length, script.Turns(
			bash("", "toolu_length_1", "wc -c < hello.py"),
			said(func(r []script.Content) string { return "hello.py has " + first(r) + " bytes." }),
		)},
		{inside, script.Turns(
			bash("", "toolu_inside_1", "ls test_output"),
			said(func(r []script.Content) string {
				return "test_output holds " + strings.Join(strings.Fields(first(r)), ", ") + "."
			}),
		)},
	}}
}
