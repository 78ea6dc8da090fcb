package tui

import "strings"

// Reason is why something is asked or denied, as package policy says it in
// English, in the language of x. Names, rules and parts of commands in it stay
// as they are, and so does what there are no words for.
func (x *Text) Reason(english string) string {
	if x != &chinese {
		return english
	}
	if s, ok := reasonZH(english); ok {
		return s
	}
	// In front of the phrase stands what it is about, which may be anything.
	best := english
	end := len(english)
	for range 16 {
		i := strings.LastIndex(english[:end], ": ")
		if i < 0 {
			break
		}
		if s, ok := reasonZH(english[i+2:]); ok {
			best = english[:i] + "：" + s
		}
		end = i
	}
	return best
}

// Item is a line about what a folder brings along, as package policy says it
// in English, in the language of x.
func (x *Text) Item(english string) string {
	if x == &chinese {
		for _, p := range itemsZH {
			if rest, ok := strings.CutPrefix(english, p[0]); ok {
				return p[1] + rest
			}
		}
	}
	return english
}

// reasonZH is one phrase, with a rule in parentheses or a name and another phrase
// behind it.
func reasonZH(s string) (string, bool) {
	for _, p := range phrasesZH {
		if s == p[0] {
			return p[1], true
		}
		if rule, ok := strings.CutPrefix(s, p[0]+" ("); ok && strings.HasSuffix(rule, ")") {
			if by, ok := strings.CutPrefix(rule, "by the rule "); ok {
				rule = "规则 " + by
			}
			return p[1] + "（" + strings.TrimSuffix(rule, ")") + "）", true
		}
	}
	for _, p := range namedZH {
		rest, ok := strings.CutPrefix(s, p[0])
		if !ok {
			continue
		}
		if i := strings.LastIndex(rest, ": "); i >= 0 {
			if more, ok := reasonZH(rest[i+2:]); ok {
				return p[1] + rest[:i] + "：" + more, true
			}
		}
		return p[1] + rest, true
	}
	return s, false
}

// phrasesZH are whole phrases, and what they are in Chinese.
var phrasesZH = [...][2]string{
	{"a rule names it", "有规则提到它"},
	{"a rule says so", "规则如此"},
	{"a rule allows it", "有规则允许"},
	{"a rule allows every command", "有规则允许所有命令"},
	{"a rule names every command", "有规则提到所有命令"},
	{"it may be a file that a rule names", "可能是规则提到的文件"},
	{"it may turn out to be what a rule names", "运行起来可能正是规则提到的"},
	{"it only looks", "只是查看"},
	{"nothing about it is to be asked for", "没有需要询问的"},
	{"it is outside the workspace", "在工作目录之外"},
	{"no rule allows to change it", "没有规则允许修改它"},
	{"what is written there is run or obeyed later, outside of this agent", "写在那里的内容以后会在本程序之外运行或生效"},
	{"where it leads cannot be told", "无法判断它指向哪里"},
	{"files of that name hold credentials, and what is read goes to the model's provider", "这种名字的文件存放凭据，而读到的内容会发给模型服务商"},
	{"it is a device", "是设备文件"},
	{"it is the kernel's, and tells of processes", "属于内核，会透露进程信息"},
	{"what the tools of a server do is not known", "不知道服务器的工具会做什么"},
	{"the settings deny it", "设置禁止了它"},
	{"the mode is plan, in which only calls run that change nothing", "现在是计划模式，只执行不做改动的调用"},
	{"the command could not be read", "无法读出命令"},
	{"the user said no", "用户没有同意"},
	{"it changes where output goes", "改变了输出的去向"},
	{"it could not be understood", "无法理解"},
	{"it goes on in the background", "在后台继续运行"},
	{"it has a loop or a choice", "含有循环或分支"},
	{"it has a wildcard", "含有通配符"},
	{"it has text of its own as input", "自带输入文本"},
	{"it holds a control character", "含有控制字符"},
	{"it holds an invisible character", "含有看不见的字符"},
	{"it defines a function", "定义了函数"},
	{"it sets a variable", "设置了变量"},
	{"it uses a variable", "用到了变量"},
	{"it uses a variable, or what another command prints", "用到了变量或其他命令的输出"},
	{"it uses what another command prints", "用到了其他命令的输出"},
	{"it reads what only running it tells", "读取的内容运行后才知道"},
	{"it writes where only running it tells", "写入的位置运行后才知道"},
	{"it runs as another user", "以其他用户的身份运行"},
	{"it runs text that comes from the network or was decoded", "运行来自网络或解码得到的文本"},
	{"it runs what comes through a pipe", "运行管道送来的内容"},
	{"it drops changes that are not committed", "会丢掉没有提交的改动"},
	{"it overwrites what others may have pushed", "会覆盖别人可能推送过的内容"},
	{"it removes files that git ignores, such as local settings", "会删除 git 忽略的文件，例如本地设置"},
	{"it removes everything in a folder that is not known before it runs", "会删除一个目录里的全部内容，而是哪个目录运行前并不知道"},
}

// namedZH are beginnings of phrases, with a name behind them.
var namedZH = [...][2]string{
	{"no rule allows the host ", "没有规则允许主机 "},
	{"a rule for ", "有规则针对 "},
	{"it reads ", "它读取 "},
	{"it writes ", "它写入 "},
	{"it uses ", "它用到 "},
	{"it removes ", "它删除 "},
	{"it connects to ", "它连接 "},
	{"it is not on the read-only table: ", "不在只读命令表里："},
	{"it comes after the folder was changed: ", "在切换目录之后："},
	{"it does not parse: ", "语法有误："},
	{"it cannot be compared with a rule, as ", "无法与规则对照："},
	{"a hook wants the user to be asked: ", "钩子要求询问："},
}

// itemsZH are beginnings of lines about what a folder brings along.
var itemsZH = [...][2]string{
	{"lets commands and tools write in: ", "允许命令和工具写入："},
	{"lets run unasked: ", "不经询问就执行："},
	{"runs at ", "运行于 "},
	{"(it is not in the usual form)", "（格式不是通常的样子）"},
}
