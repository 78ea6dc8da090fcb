package tui

import (
	"fmt"
	"strings"
)

// Weakness is something that a sandbox does not do here, as package workspace
// says it in English, in the language of x.
func (x *Text) Weakness(english string) string {
	if x == &chinese {
		for _, w := range weakerZH {
			if w[0] == english {
				return w[1]
			}
		}
	}
	return english
}

// weakerZH are what sandboxes do not do.
var weakerZH = [...][2]string{
	{"files that git, editors and agents obey can be changed in the workspace; those of git are put back after the command, the others named",
		"工作区里 git、编辑器和智能体会遵从的文件可以被改动；命令结束后会还原 git 的，并列出其余的"},
	{"mode, times and owner of the user's files elsewhere can be changed", "工作区之外，用户文件的权限、时间和属主可以被改动"},
	{"no loopback: servers and tests that listen do not work", "没有回环网络：需要监听端口的服务和测试无法运行"},
	{"other processes are seen", "能看到其他进程"},
	{"hidden folders can be listed, their files not read", "隐藏的目录可以列出，但其中的文件读不到"},
	{"no terminals: script, tmux, expect and other programs that make one do not work", "没有终端：script、tmux、expect 等要创建终端的程序无法运行"},
	{"no System V shared memory, semaphores and queues, no POSIX queues: programs that need them, such as PostgreSQL and fakeroot, do not run",
		"没有 System V 共享内存、信号量和消息队列，也没有 POSIX 消息队列：需要它们的程序（如 PostgreSQL、fakeroot）无法运行"},
	{"limits and priority can be changed by a process for itself only, not for another one or for its threads: renice, taskset -p, prlimit --pid fail",
		"进程只能改自己的资源限制和优先级，不能改其他进程或自己线程的：renice、taskset -p、prlimit --pid 会失败"},
	{"each command has a loopback of its own: a server one command runs is not reached by others", "每条命令有各自的回环网络：一条命令启动的服务，其他命令连不上"},
	{"protected names that are symbolic links can be changed; those of git are put back after the command", "受保护的名字如果是符号链接，可以被改动；命令结束后会还原 git 的"},
	{"processes are counted, and commands with too many ended a moment later; the kernel makes no more only at half as many again, and for root it never stops",
		"进程数靠计数限制，超出的命令稍后才被结束；内核要到上限的一倍半才不再创建，对 root 则没有上限"},
	{"before Linux 6.12 commands can signal the user's other processes, and so outlive this program", "Linux 6.12 之前，命令可以向用户的其他进程发信号，因此可能在本程序退出后仍然运行"},
	{"no Landlock in this kernel: one line of defence less around the read-only files, and a file with credentials that appears while a command runs can be read by that command",
		"内核没有 Landlock：只读文件少一道防线；命令运行期间出现的含凭据的文件，该命令可以读到"},
}

// Difference is where a replay came to something else than the log has, in the
// language of x. want and got are as package trace says them in English: what
// of them is from the log stays as it is.
func (x *Text) Difference(turn int, entry int64, want, got string) string {
	at := fmt.Sprintf(x.ReplayAt, turn, entry)
	if entry == 0 {
		at = fmt.Sprintf(x.ReplayAtEnd, turn)
	}
	return fmt.Sprintf(x.ReplayCame, at, x.replayPart(want), x.replayPart(got))
}

func (x *Text) replayPart(english string) string {
	if x != &chinese {
		return english
	}
	for _, p := range replayZH {
		if rest, ok := strings.CutPrefix(english, p[0]); ok {
			if strings.HasSuffix(p[0], ": ") {
				rest = x.replayPart(rest)
			}
			return p[1] + rest
		}
	}
	return english
}

// replayZH are beginnings of what a replay came to.
var replayZH = [...][2]string{
	{"what is recorded: ", "录制的内容："},
	{"a message of the user", "用户的消息"},
	{"a reply", "回复"},
	{"results", "结果"},
	{"the end of the turn after", "本轮结束于"},
	{"the end of the turn", "本轮结束"},
	{"a request to the model", "向模型发出请求"},
	{"calls to be run", "要执行的调用"},
	{"the pieces", "片段"},
	{"nothing more", "没有更多内容"},
}
