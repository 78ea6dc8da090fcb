package tui

import (
	"fmt"
	"strings"

	"oneloop"
)

// Reason is why something is asked or denied, in the language of x: by why,
// and where that is nil the English words. Names, rules and parts of commands
// in it stay as they are.
func (x *Text) Reason(english string, why *oneloop.Reason) string {
	if why == nil {
		return english
	}
	return x.because(why)
}

func (x *Text) because(why *oneloop.Reason) string {
	if why.Code == "" {
		return why.Text
	}
	text := why.Text
	if x == &chinese {
		for _, r := range reasonsZH {
			if r[0] == why.Code {
				text = r[1]
			}
		}
	}
	args := make([]any, len(why.Args))
	for i, a := range why.Args {
		args[i] = x.because(a)
	}
	return fmt.Sprintf(text, args...)
}

// without is a reason without what it is about, where it begins with that.
func without(why *oneloop.Reason, about string) *oneloop.Reason {
	switch {
	case why == nil || len(why.Args) == 0 || !strings.HasPrefix(why.Text, "%s"):
		return why
	case why.Code == "of" && why.Args[0].Text == about:
		return why.Args[1]
	}
	rest := *why
	rest.Args = append([]*oneloop.Reason{without(why.Args[0], about)}, why.Args[1:]...)
	return &rest
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

// reasonsZH are the reasons of package policy in Chinese, by their codes.
var reasonsZH = [...][2]string{
	// Of rules and tools.
	{"of", "%s：%s"},
	{"by", "%s（%s）"},
	{"by-rule", "%s（规则 %s）"},
	{"said-no", "%s：用户没有同意"},
	{"said-no-because", "%s：用户没有同意（%s）"},
	{"no-answer", "没有得到回答：%s"},
	{"named", "有规则提到它"},
	{"maybe-named", "运行起来可能正是规则提到的"},
	{"named-in-it", "有规则提到其中的文件"},
	{"maybe-named-file", "可能是规则提到的文件"},
	{"uncompared", "无法与规则对照：%s"},
	{"every-command", "有规则提到所有命令"},
	{"every-command-allowed", "有规则允许所有命令"},
	{"rule-allows", "有规则允许"},
	{"rule-for", "有规则针对 %s"},
	{"rule-says", "规则如此"},
	{"rule-keeps", "有规则不许读它"},
	{"settings-deny", "设置禁止了它"},
	{"host-unruled", "没有规则允许主机 %s"},
	{"edit-unruled", "没有规则允许修改它"},
	{"server-unknown", "不知道服务器的工具会做什么"},
	{"hook-asks", "钩子要求询问：%s"},
	{"only-looks", "只是查看"},
	{"unasked", "没有需要询问的"},
	{"but-outside", "%s；但它在工作目录之外，用 --add-dir 加入后文件工具才能去那里"},
	{"plan", "现在是计划模式，只执行不做改动的调用"},
	{"unknown-mode", "权限模式无法识别"},
	{"unread", "无法读出命令"},
	{"untold", "无法判断这个调用会触及什么：%s"},

	// Of files.
	{"reads", "它读取 %s：%s"},
	{"writes", "它写入 %s：%s"},
	{"uses", "它用到 %s：%s"},
	{"outside", "在工作目录之外"},
	{"obeyed-later", "写在那里的内容以后会在本程序之外运行或生效"},
	{"leads-nowhere", "无法判断它指向哪里"},
	{"credentials", "这种名字的文件存放凭据，而读到的内容会发给模型服务商"},
	{"device", "是设备文件"},
	{"kernel", "属于内核，会透露进程信息"},
	{"repository-unread", "无法读出仓库的设置"},
	{"repository-filters", "git 会运行仓库设置里的过滤程序"},
	{"repository-includes", "仓库的设置引入了其他设置，其中可能有要运行的程序"},

	// Of the danger list.
	{"another-user", "以其他用户的身份运行"},
	{"fetched", "运行来自网络或解码得到的文本"},
	{"piped", "运行管道送来的内容"},
	{"if-unset", "如果有变量没有设置或有命令没有输出，%s"},
	{"new-file-system", "会建立新的文件系统"},
	{"writes-device", "写入块设备 %s"},
	{"may-write-device", "可能写入块设备"},
	{"halts", "会关闭或重启机器"},
	{"may-halt", "可能关闭或重启机器"},
	{"ends-all-processes", "会结束它能结束的所有进程，包括本程序和用户的会话"},
	{"fork-bomb", "进程炸弹：函数 %s 不断启动自己"},
	{"overwrites-pushed", "会覆盖别人可能推送过的内容"},
	{"drops-changes", "会丢掉没有提交的改动"},
	{"removes-ignored", "会删除 git 忽略的文件，例如本地设置"},
	{"removes", "会删除%s"},
	{"removes-all-over", "会到处删除文件，范围是%s"},
	{"removes-unknown-folder", "会删除一个目录里的全部内容，而是哪个目录运行前并不知道"},
	{"does", "%[1]s，对象是%[2]s"},
	{"does-all-over", "%[1]s，遍及%[2]s"},
	{"moves", "会移动文件"},
	{"moves-out-of", "会把文件移走"},
	{"syncs", "会删除来源里没有的文件"},
	{"cleans", "会删除 git 没有跟踪的文件"},
	{"changes-mode", "会改变谁能使用"},
	{"changes-owner", "会改变属主"},
	{"everything-in", "%s里的全部内容"},
	{"root-folder", "根目录"},
	{"home-folder", "主目录"},
	{"a-home-folder", "某个用户的主目录"},
	{"above-home", "主目录的上级目录"},
	{"above-work", "工作目录的上级目录"},
	{"work-folder", "工作目录本身"},
	{"system-folder", "系统目录"},
	{"git-folder", "git 仓库自己的目录"},
	{"git-data", "git 仓库保存的内容"},

	// Of what cannot be followed.
	{"not-understood", "无法理解"},
	{"too-long", "太长，无法跟踪"},
	{"takes-too-long", "要花太久，无法跟踪"},
	{"too-many-parts", "部分太多，无法判断"},
	{"too-many-meanings", "可能的含义太多，无法跟踪"},
	{"nested-shells", "shell 嵌套太深，无法跟踪"},
	{"nul-byte", "含有 bash 会丢弃的 NUL 字节"},
	{"unparsed", "语法有误：%s"},
	{"not-rewritten", "无法重新写出：%s"},
	{"ends-in-backslash", "以反斜杠结尾"},
	{"runs-unknown", "运行 %s 里的内容，而那是未知的"},
	{"renames-program", "给程序起了别的名字"},
	{"other-name", "它给变量起了另一个名字"},
	{"no-text", "含有不是文本的字节"},
	{"carriage-return", "含有回车符"},
	{"control-character", "含有控制字符"},
	{"invisible-character", "含有看不见的字符"},

	// Of what only running it tells.
	{"loop", "含有循环或分支"},
	{"background", "在后台继续运行"},
	{"sets-variable", "设置了变量"},
	{"uses-variable", "用到了变量"},
	{"uses-output", "用到了其他命令的输出"},
	{"uses-variable-or-output", "用到了变量或其他命令的输出"},
	{"evaluates", "要计算表达式"},
	{"defines-function", "定义了函数"},
	{"wildcard", "含有通配符"},
	{"braces", "有词带花括号"},
	{"tilde", "用 ~ 指主目录"},
	{"dollar-quotes", "有词写在 $'…' 里"},
	{"dollar-double-quotes", `有词写在 $"…" 里`},
	{"opens-after-cd", "切换目录之后打开文件"},
	{"after-cd", "在切换目录之后：%s"},
	{"goes-somewhere", "没有写明去哪里"},
	{"writes-somewhere", "写入的位置运行后才知道"},
	{"reads-something", "读取的内容运行后才知道"},
	{"opens-oddly", "以不寻常的方式打开 %s"},
	{"connects", "它连接 %s"},

	// Of what the read-only table does not know.
	{"not-read-only", "不在只读命令表里：%s"},
	{"command-not-read-only", "它的子命令 %s 不在只读命令表里"},
	{"option-not-read-only", "它的选项 %s 不在只读命令表里"},
	{"given-not-read-only", "%s 不在只读命令表里"},
	{"option-without-value", "它的选项 %s 没有值"},
	{"without-value", "%s 没有值"},
	{"options-before", "子命令之前的选项不在只读命令表里"},
	{"is-given", "给了它 %s"},
	{"writes-file", "它写入 %s"},
	{"moves-output", "改变了输出的去向"},
	{"own-input", "自带输入文本"},
	{"follows-links", "会跟随通向任何地方的链接；加上 --no-dereference 就不会"},
	{"only-prints", "只有 -n 加要打印的行（例如 '1,20p'）确定不做改动"},
	{"script-does-more", "它的脚本不只是按行号打印"},
	{"makes-branch", "会建立分支；--list 只列出分支"},
	{"checks-signatures", "它的格式要检查签名，为此会运行别的程序"},
	{"format-of-settings", "它的格式 %s 是什么意思由设置决定"},
	{"merges", "它的 %s 可能再次合并，为此会运行别的程序"},
	{"submodules", "它的 %s 会在子模块里运行 git，而那里有自己的设置"},
}

// itemsZH are beginnings of lines about what a folder brings along.
var itemsZH = [...][2]string{
	{"lets commands and tools write in: ", "允许命令和工具写入："},
	{"lets run unasked: ", "不经询问就执行："},
	{"runs at ", "运行于 "},
	{"runs when it is used: ", "使用时运行："},
	{"(it is not in the usual form)", "（格式不是通常的样子）"},
}
