package tui

var chinese = Text{
	Usage: `oneloop：一个循环就是一个编程智能体

  oneloop                在当前目录里对话
  oneloop "任务"         只做一件事：答案写到标准输出，过程写到标准错误；
                         管道送来的内容会附在任务后面
  oneloop demo           不用密钥，看循环怎样工作；oneloop demo s01：系列的一章
  oneloop policy explain [--json] -- '命令'
                         规则怎样判定它；还有 policy lint 和
                         policy test 文件
  oneloop sessions       这个目录里保存的对话；还有 sessions show、rename、
                         rm、export
  oneloop team worktrees --worktree 的工作树；还有 remove 名称
  oneloop fork ID [轮次] 复制一个对话，可以只到某一轮
  oneloop replay ID      按日志重放一个对话；见 oneloop help replay
  oneloop doctor [--json]
                         这里有什么：凭据、程序、设置，以及哪种沙箱可用
  oneloop models [提供方] 可以使用的模型，附窗口和价格
  oneloop completion SHELL
                         输出 bash、zsh 或 fish 的补全脚本
  oneloop version        版本和平台
  oneloop help           显示这一页

选项
  --model 名称           使用的模型，如 claude-sonnet-5 或
                         deepseek/deepseek-v4-pro
                         （也可用 MODEL_ID、ONELOOP_MODEL）
  --fallback-model 名称  模型一直过载时由它继续
  --effort 档位          low、medium、high、xhigh 或 max
  --tools 列表           给模型的工具：Bash、Read、Write、Edit、Glob、Grep、
                         WebFetch、TodoWrite、TaskStop、Agent、Skill、Memory、
                         AskUserQuestion；写 bash 则只有一个工具和一行
                         系统提示词
  --system-prompt 文本   替换内置的系统提示词
  --append-system-prompt 文本
                         追加在内置的系统提示词之后
  --image 文件           给任务附上一张 PNG、JPEG、GIF 或 WebP 图片
  --series s01 … s06     只有系列中这一章能力的智能体，见 docs/series/
                         （s01 与 --tools bash 相同）
  -c, --continue         继续这个目录里最近的对话
  -r, --resume ID        继续这个对话（编号、编号的开头或名称）；不写 ID
                         则列出来选
  --fork                 与 -c 或 -r 一起：用副本继续
  -C 目录                在这个目录里工作
  --worktree [名称]      在仓库的一个工作树里工作，分支为 wt/名称；不写名称则
                         自动取名
  --add-dir 目录         也在这个目录里工作，可以写多次
  -p, --                 后面的内容一律当作任务
  --json-schema 文件     任务的答案是符合此 JSON Schema 的 JSON，否则
                         运行失败（退出码 1）
  --max-turns N          最多向模型请求 N 次
  --max-cost 金额        最多花多少美元
  --output-format 格式   text、json 或 stream-json
  --include-partial-messages
                         配合 stream-json：同时给出消息的片段
  --permission-mode 模式 default、acceptEdits、plan、dontAsk 或
                         bypassPermissions（不再询问；危险清单在任何
                         模式下都有效）
  --allowed-tools 规则   另外允许这些，例如 "Bash(go test:*),Edit"
  --sandbox 方式         auto（现有最强的）、ns、bwrap、ll 或 none：none 时命令
                         以你的身份执行，由危险清单和你的规则决定哪些可以
  --web-search           允许接口自己搜索网络，它会另外收费
  --no-memory            不用以前会话的笔记，也不为以后记笔记
  --bell[=秒数]          完成或提问时响铃，前提是已等了这么多秒（10）
  --trust                不询问，直接使用目录自带的设置、钩子、.env 等
  --trace[=文件]         显示每个请求和回复，或把事件写入文件
  --record               把接口的应答逐字节保存在会话旁边
  --yes                  （演示）不等回车
  -h, --help             显示这一页

环境变量
  ANTHROPIC_API_KEY、ANTHROPIC_AUTH_TOKEN、ANTHROPIC_BASE_URL、MODEL_ID、
  OPENAI_API_KEY、GEMINI_API_KEY、DEEPSEEK_API_KEY……（见 oneloop models）、
  ONELOOP_MODEL、ONELOOP_LANG=en|zh、NO_COLOR；其余见 docs/

退出码
  0 完成 · 1 模型或接口出错，或重放结果不同 · 2 用法错误 · 3 密钥或配置有问题 ·
  4 有操作因无人可问而被拒绝 · 5 达到限额 · 6 模型拒绝或回答被截断 ·
  130/143 收到信号 · 141 没有人读取答案
`,
	Version:         "oneloop %s（%s，%s）",
	UnknownFlag:     "没有 %s 这个选项；运行 oneloop help 可以看到全部选项。任务以 - 开头时，请写在 -- 后面",
	FlagNeeds:       "%s 需要一个值，例如 %[1]s=值",
	FlagValue:       "%s 不能是 %q；可以是：%s",
	ReservedLater:   "%[1]q 很像 %[2]q，那是留给以后版本的命令。要把它当作任务，请输入 oneloop -p %[1]q",
	ReservedWord:    "%[1]q 很像命令 %[2]q。要运行命令，请输入 oneloop %[2]s；要把它当作任务，请输入 oneloop -p %[1]q",
	PolicyUsage:     "policy explain [--json] -- '命令'，policy lint [--json]，或 policy test [--json] 文件",
	ExplainLabels:   [7]string{"判定", "原因", "部分", "规则", "文件", "可允许", "沙箱"},
	DeniedOne:       "有调用因无人可问而被拒绝：%s",
	DeniedMany:      "%d 个调用因无人可问而被拒绝，第一个：%s",
	PolicyTested:    "共 %d 条，%d 条的结果不同",
	NotYet:          "这个版本没有 %[1]q 命令；要把这个词当作任务，请输入 oneloop -p %[1]q",
	EmptyPrompt:     "任务是空的；请说明要做什么，例如：oneloop \"让测试通过\"",
	NoTerminal:      "既没有任务，也没有可以对话的终端；请把任务写成参数：oneloop \"让测试通过\"",
	FlagApart:       "%s 不能和 %s 一起用",
	FlagTogether:    "%s 只能和 %s 一起用",
	PromptTooBig:    "任务超过 %s，这是最多能发送的长度；请把内容存成文件，在任务里写上文件名",
	PromptNUL:       "任务里有 NUL 字节，不是文本；请把数据存成文件，在任务里写上文件名",
	PromptUTF8:      "任务不是有效的 UTF-8；请先转换编码，例如用 iconv -t UTF-8",
	OneTask:         "单个任务：oneloop --json-schema 文件 \"任务\"",
	BadFile:         "无法读取 %s：%v",
	BadDir:          "无法在 %s 里工作：%v",
	StdinNothing:    "标准输入开着，却没有内容；不再等它",
	ExtraWords:      "命令 %q 后面不能再有别的词。要把这些词当作任务，请输入 oneloop -p %q",
	OtherWords:      "命令 %q 后面只能是这些之一：%s。要把这些词当作任务，请输入 oneloop -p %q",
	SlashTask:       "%[1]s 是对话里的命令：先启动 oneloop，再在里面输入。要把它当作任务，请输入 oneloop -p %[1]s",
	StdinSilent:     "标准输入在 %d 字节之后没有了动静；先用已经收到的内容",
	NoBash:          "找不到 bash；请先安装（apt-get install bash 或 brew install bash），或把它所在的目录加入 PATH",
	TraceFile:       "无法把记录写入 %s：%v；请用 --trace=文件 换一个文件",
	SandboxNone:     "没有沙箱：命令以你的身份执行；不只是查看的命令会先询问，无人可问时拒绝",
	SandboxPlan:     "命令在沙箱里执行：可以查看这个目录，除了自己的 /tmp 什么都不能改，只能访问你允许的主机。",
	SandboxOn:       "命令在沙箱里执行：只能改动这个目录和它自己的 /tmp，只能访问你允许的主机。",
	NetworkOr:       "# 或者",
	NetworkBy:       "# 来自代理 %s：",
	NetworkUsed:     "网络：%s",
	SandboxMissing:  "加 --sandbox none 可以不用沙箱执行命令：不只是查看的命令会先询问，无人可问时拒绝。",
	ChildFlags:      "在子任务里不起作用，由上层智能体决定：%s",
	BackgroundEnded: "结束了仍在后台运行的命令：%s",
	ErrorLine:       "出错：%v",
	HintAuth:        "%s 拒绝了密钥。请检查它是否完整、是否过期、是否属于这个地址（ANTHROPIC_API_KEY、ANTHROPIC_BASE_URL）。",
	HintBilling:     "%s 的账户余额不足以完成这次请求；请充值或换一个密钥。已做的不会撤销。",
	HintNetwork:     "%s 没有回应。请检查地址（ANTHROPIC_BASE_URL）、网络和 HTTPS_PROXY。",
	HintBroken:      "已经连上 %s，但连接在得到回答之前断开了。已做的不会撤销。请再试一次；如果总是这样，请检查中间的环节：ANTHROPIC_BASE_URL、HTTPS_PROXY、防火墙。",
	HintCertificate: "本机不信任 %s 的证书，所以什么都没有发送。请检查地址（ANTHROPIC_BASE_URL）和系统时间，以及中间是否有使用自己证书的代理（可用 SSL_CERT_FILE 添加证书）。",
	HintRedirect:    "%s 重定向到 %s，而密钥只会发送到你设定的地址。如果接口在那里，请把 ANTHROPIC_BASE_URL 设为它；如果那是登录页，说明代理要求先登录。",
	HintNotFound:    "没有找到模型 %s（地址 %s）；请用 --model 选择其他模型，或检查 ANTHROPIC_BASE_URL。",
	HintNotAPI:      "%s 返回的不是 Messages API 的内容。请检查 ANTHROPIC_BASE_URL；中间可能隔着登录页或代理。",
	HintInvalid:     "%s 不接受这样的请求，原样重试也没有用。请修改出错信息里提到的内容（也许是 --model 或 --effort），或开始新的对话。已做的不会撤销。",
	HintTooLarge:    "%s 不接受这么大的请求。请缩短这个对话（/compact），开始新的对话（/clear），或一次少给一些：图片小一些，长文本放进文件，在任务里写上文件名。",
	HintCut:         "与 %s 的连接在回答中途断开，没有说完的回答作废。此前已做的不会撤销。请再试一次；如果总是这样，可能有代理会截断较长的回答。",
	HintStalled:     "%s 在请求中途没有了动静。已做的不会撤销。请再试一次；可用 ONELOOP_IDLE_TIMEOUT 和 ONELOOP_PROGRESS_TIMEOUT 设定最多等多久。",
	HintServer:      "问题出在 %s。已做的不会撤销。请稍后再试；如果总是这样，请查看服务的状态页，或检查 ANTHROPIC_BASE_URL。",
	HintBusy:        "%s 正忙。已做的不会撤销，请稍后再试。",
	HintBusyUntil:   "%s 要求在 %s 之前不要再发请求。已做的不会撤销；请到时再试，或换一个密钥或模型。",
	HintTooLong:     "对话已经缩到最短。请一次少给一些：长文本放进文件，在任务里写上文件名；或者开始新的对话（/clear）。",
	HintRefused:     "请换一种说法，或用 --model 换一个模型。",
	HintPaused:      "API 一直没有让模型答完；请重试，或一次少问一些。",
	HintTruncated:   "回答因长度上限被截断；请分成几部分来问。",
	HintLimit:       "已做的不会撤销。限额由 %s 设定。",
	HintOtherLimit:  "已做的不会撤销；请把剩下的部分作为新的任务。",
	NoKey: `oneloop 需要一个模型才能工作。有四种办法：

  用密钥      export ANTHROPIC_API_KEY=sk-ant-...
              密钥在服务商的控制台里申请；也可以把这一行
              （去掉 export）写进 ~/.config/oneloop/config.env。也可用
              DEEPSEEK_API_KEY、DASHSCOPE_API_KEY、MOONSHOT_API_KEY、
              ZAI_API_KEY、ZHIPUAI_API_KEY、OPENAI_API_KEY、
              GEMINI_API_KEY、GROQ_API_KEY、OPENROUTER_API_KEY
  用代理      export ANTHROPIC_BASE_URL=https://...
              export ANTHROPIC_AUTH_TOKEN=...
              任何兼容 Messages API 的服务都可以
  本地模型    Ollama（localhost:11434）运行并有模型时会自动找到；其他：
              oneloop --model vllm/名称、llamacpp/名称、lmstudio/名称
  先看看      oneloop demo
              真实的循环加上按脚本回答的模型，不要密钥，不花钱
`,

	DoctorLabels:    [7]string{"目录", "凭据", "模型", "服务地址", "终端", "设置", "沙箱"},
	DoctorNone:      "无",
	NoKeyFor:        "没有 %s 的密钥：请在环境变量或 ~/.config/oneloop/config.env 中设置 %s，或用 --model 选择别的模型（oneloop models 可列出）",
	OnlyProvider:    "没有指定模型，只配置了 %s（%s）：使用 %s。",
	SeveralToAsk:    "有多个提供方的密钥，但没有指定模型；请用 --model 或 ONELOOP_MODEL 选择：%s",
	NoUsualModel:    "有 %[1]s 的密钥，但它没有默认模型；请用 --model %[1]s/名称 或 ONELOOP_MODEL=%[1]s/名称 选择（oneloop models %[1]s 可列出）",
	CloudMissing:    "%s 上的模型通过程序 %s 访问，但 %s 不存在：请用 make cloud 构建并放到那里",
	OllamaFound:     "没有设置密钥。本机的 Ollama（%s）有应答，因此使用 %s；可用 --model 另选。",
	ModelsUsage:     "models [--json] [提供方]：列出已配置且有应答的模型；给出提供方则列出它的全部模型",
	ModelsReached:   "有应答",
	ModelsNoKey:     "没有密钥：请设置 %s",
	ModelsThrough:   "通过程序 %s 访问，它没有模型列表",
	ModelsNot:       "没有应答：%s",
	ModelsMore:      "另有 %d 个：oneloop models %s",
	ModelsMissing:   "未配置（括号里是密钥的变量）：",
	ModelsEnd:       "窗口 / 最长回复（token），每百万 token 的美元价格（输入 / 输出），数据日期 %s。",
	ModelsAsked:     "当前使用 %s；用 --model 名称 或 /model 名称 选择。",
	ModelsNobody:    "还没有选定模型；用 --model 名称 或 ONELOOP_MODEL 选择。",
	ModelUnknown:    "未知",
	ModelNoPrice:    "价格未知",
	ModelNotServed:  "目前不在它的列表中",
	ModelAbilities:  [2]string{"图像", "思考"},
	ModelIs:         "模型 %s  %s token  %s  %s",
	ModelChange:     "/model 名称 从现在起换用另一个模型，例如 /model deepseek/deepseek-v4-pro；对话继续。oneloop models 列出全部。",
	FallsBack:       "由 %s 继续：%v",
	DoctorNoKey:     "没有凭据：请设置 ANTHROPIC_API_KEY 或其他提供方的密钥（见 oneloop models），或者直接运行 oneloop 看说明",
	DoctorNoSandbox: "所要求的沙箱在这里不能用，所以不会执行任何命令。",
	DoctorRead:      "已采用",
	DoctorUntrusted: "未受信任，没有采用",
	DoctorPicked:    "%s（要求：%s）",
	DoctorWorks:     "可用",
	DoctorFails:     "%s：不可用：%s",
	DoctorWeaker:    "较弱：%s",
	DoctorMend:      "解决办法：%s",
	DoctorWell:      "什么都不缺。",
	DoctorLacks:     "缺少：%s",

	TrustTitle:   "信任 %s 自带的这些内容吗？",
	TrustReason:  "它们和目录出自同一个人之手，并会以你的权限生效；知道是谁写的，才回答“是”",
	TrustChanged: "上次信任之后有改动",
	TrustKinds: [8]string{
		"设置：可以运行命令、让调用不经询问就执行，也可以增加可写入的目录",
		"工具服务器：要启动的程序或要连接的地址",
		"变量：决定对话和密钥发往哪里",
		"脚本：可由钩子运行",
		"给模型的指示",
		"模型可以启动的代理",
		"可按名称调用的提示",
		"技能：指示模型，并自带程序",
	},

	Welcome:     "oneloop %s · %s · %s",
	WelcomeHint: "请说要做什么。/help 查看命令，Ctrl-C 停止当前这一轮，Ctrl-D 退出。",
	Help: `  /help           显示这些命令
  /clear          开始新的对话
  /resume [ID]    继续这个目录里的另一个对话
  /fork           用副本继续，这个对话保持原样
  /rewind         退回到某一条输入之前：对话、文件或两者
  /rename 名称    给这个对话起名
  /compact 要点   用摘要代替较早的对话；可以写明要保留什么
  /context        模型的窗口里有些什么
  /cost           到目前为止的用量，按模型和轮次列出
  /agents         已定义的智能体，以及本次对话的智能体
  /diff           启动以来它的文件工具改动了什么
  /init           让它写出 AGENTS.md，即这个目录的指示
  /jobs           后台命令
  /todo           智能体的待办列表
  /memory         它为以后的会话记下的笔记；加名称显示，delete 名称 删除
  /mode           权限模式；“/mode 名称”换成另一种
  /model          模型；“/model 名称”换用另一个，对话继续
  /queue          已输入、等待送达的内容及其修改
  /worktrees      仓库的工作树；remove 名称 [--discard] 删除一个
  /skills         这个目录和你自己的技能与命令；/名字 [内容] 调用一个
  /permissions    当前的权限模式和规则
  /sandbox        命令运行在什么沙箱里，哪些地方较弱
  !命令           立即以你的权限运行，输出会随下一条输入给模型看
  @路径           点名的文件、目录或图片随输入一起发送
  q、exit、Ctrl-D 退出

  Enter           发送             Alt-Enter 或 \ Enter  换行
  上、下          之前输入过的内容 Ctrl-C、Esc           停止当前这一轮
  Ctrl-A、Ctrl-E  行首、行尾       Ctrl-U、Ctrl-K        删到行首、行尾
  Ctrl-W          删除一个词       Ctrl-Y                放回删掉的内容
  Ctrl-L          清屏             Ctrl-Z                挂起
  Tab             补全 @路径 或命令
  Shift+Tab       换下一种权限模式

  模型工作时也可以输入：内容在正在执行的调用结束后送达，
  按 Esc 则立即送达。
`,
	CommandsIn:   "命令的运行环境：%s",
	CommandsWeak: "这里做不到的防护：%s",
	ModeIs:       "权限模式 %s：%s",
	Modes: [5]string{
		"规则和沙箱都没有决定的，会询问你",
		"修改工作目录里的文件不再询问，其余同 default",
		"在你同意计划之前什么都不改",
		"本来要询问的一律拒绝",
		"什么都不问；危险命令清单和拒绝规则仍然有效",
	},
	ModeFrom:       "由 %s 设定",
	ModeStands:     "模式 %s",
	ModesHead:      "用 /mode 名称 换成另一种，从下一次调用起生效：",
	ModesKey:       "Shift+Tab 在 default、acceptEdits 和 plan 之间切换。",
	ModeNone:       "没有 %q 这种权限模式；/mode 可以看到全部。什么都没有改",
	ModeJobs:       "已在后台运行的命令照启动时的样子继续。",
	PlanNone:       "没有沙箱，所以只运行确定不会改动任何东西的操作。",
	BypassNone:     "模型要做什么都会立刻执行，使用你的全部权限：命令可以修改你的任何文件、连接任何主机，不会先问你。用 /mode default 结束。",
	BypassSandbox:  "模型要做什么都会立刻执行：连接任何主机，修改文件，受保护的文件也不例外。命令仍在沙箱里。用 /mode default 结束。",
	AlsoIn:         "也在这些目录里工作：%s",
	RulesNone:      "没有规则",
	RulesHead:      "规则（从严到宽；deny 先于 ask，ask 先于 allow）：",
	RulesOther:     "不起作用的规则：",
	RulesElse:      "没有规则决定时：命令在沙箱里直接运行，工作目录里的文件直接修改；其他主机会询问；文件工具只能用于工作目录和 --add-dir 加入的目录",
	RulesElseNone:  "没有规则决定时：只查看的直接运行，其余都会询问；文件工具只能用于工作目录和 --add-dir 加入的目录",
	RulesChange:    "要修改：%s（你的）或 %s（这个目录的）中的 permissions.allow、ask、deny；oneloop policy lint 可以检查。模式用 /mode 改",
	SandboxWrite:   "命令可以修改：%s",
	SandboxHidden:  "命令看不到内容的文件和目录（密钥、登录信息）：%d 个",
	SandboxHosts:   "规则允许的主机：%s；其他主机会询问",
	SandboxNoNet:   "命令不能连接任何主机",
	SandboxFailed:  "%s 在这里不能用：%s",
	SandboxChange:  "要修改：启动时用 --sandbox auto、ns、bwrap、ll 或 none，或 %s 中的 \"sandbox\"；更多目录用 --add-dir。oneloop doctor 会说明怎样加强",
	SandboxLimits:  "每条命令的限制：%s",
	SandboxLimit:   [4]string{"进程和线程 %s", "内存 %s", "单个文件 %s", "所改文件合计 %s"},
	LimitNone:      "无",
	NoDiff:         "没有文件改动",
	NoJobs:         "没有在后台启动过命令",
	JobRuns:        "%s  已运行 %v：%s\n  输出在 %s",
	JobEnded:       "%s  已结束：%s\n  %s",
	TodoNone:       "智能体没有待办列表",
	TodoHead:       "待办（完成 %d / 共 %d）",
	MemoryOff:      "不记笔记：用了 --no-memory、设置了 memory，或者没有可以存放的目录",
	MemoryNone:     "没有笔记；想让它记住什么，告诉它就行",
	MemoryIn:       "在 %s",
	MemoryNot:      "没有叫 %q 的笔记；/memory 可以看到全部笔记",
	MemoryWhich:    "要删除哪条笔记？/memory delete 名称；/memory 可以看到全部笔记",
	MemoryGone:     "%s 已删除",
	UnknownSlash:   "没有 %s 这个命令；/help 可以看到全部命令。开头加一个空格，就会把这一行发给模型",
	SlashAlone:     "%s 后面不能有别的内容；什么都没有做。开头加一个空格，就会把这一行发给模型",
	Cleared:        "新的对话开始了",
	Background:     plural{"有 %d 个命令在后台运行", "有 %d 个命令在后台运行"},
	NoCost:         "还没有任何用量",
	AgentsDefined:  "已定义的智能体（.oneloop/agents、.claude/agents，以及你自己的这些目录）：",
	AgentsNone:     "没有",
	AgentsOfThis:   "本次对话的智能体（oneloop -r ID 可继续其中一个）：",
	NothingShorter: "还没有可以缩短的内容",
	WindowUsed:     "窗口：已用 %s 词元，共 %s，占 %d%%；各部分是估计值",
	WindowUnknown:  "窗口：已用 %s 词元；不知道模型一共能接受多少。各部分是估计值",
	WindowAbout:    "约 %s",
	WindowParts:    [10]string{"系统提示", "工具", "摘要", "用户输入", "回复", "思考", "调用", "调用结果", "图片和文档", "其他"},
	WindowFree:     "空闲",
	WindowLimit:    "超过 %s 词元时，对话会自动缩短；/compact 可以现在就做",
	WindowRefused:  "接口认为太长时，对话会自动缩短；/compact 可以现在就做",
	BillSubtasks:   "子任务",
	BillTurn:       "第 %d 轮",
	Shortened:      "对话已经缩短：较早的部分由一份摘要代替（原有 %s 词元，现有 %s）",
	SummedUp:       "对话已概括，但没有变短（之前 %s 个 token，现在 %s 个）。",
	LogTrouble:     "对话暂时无法保存：%v。工作照常进行，能写入时会补上缺少的内容",
	LogKept:        "对话又能保存了，之前缺少的内容已补上",
	LogDamaged:     "会话 %s 的记录有损坏，%v；其余部分照常使用，文件保持原样",
	LogTorn:        "会话 %s 的记录最后一行没有写完，已经截去；已经执行的内容都没有丢失",
	LogLost:        "对话最后的 %d 条记录没能写入 %s，已经丢失：%s",
	NothingKept:    "没有保存任何会话：没有可写的目录。请设置 HOME 或 XDG_STATE_HOME",
	NoSession:      "%v。用 oneloop sessions 可以列出会话",
	NoSuchSession:  "没有会话 %q。用 oneloop sessions 可以列出会话",
	NotSaid:        "还没有说过什么，没有可以分叉的内容",
	RenameHow:      "/rename 名称 为对话命名",
	OwnHow:         "!命令 运行你自己的命令，例如 !git status",

	NoSessionHere: "%s 没有保存的会话；直接给出任务，或去掉 -c",
	SessionInUse:  "会话 %s 正被另一个 oneloop 使用。请等它结束，或加上 --fork 用它的副本继续",
	SessionBusy:   "会话 %s 正被另一个 oneloop 使用。请等它结束",
	Resumed:       "继续：%s（%s）",
	ResumeHint:    "要继续这次对话：oneloop -r %s",
	ShellUsage:    "completion bash、completion zsh 或 completion fish：该 shell 的补全脚本，例如 eval \"$(oneloop completion bash)\"",
	SessionsUsage: "sessions [list [--all] [--json]]、sessions show ID、sessions rename ID 名称、sessions rm ID ...，或 sessions export ID [md|jsonl]",

	TreeUsage:        "team worktrees，或 team worktrees remove 名称 [--discard]",
	TreeUntrusted:    "%s 带来的内容没有全部得到信任，这时不运行 git。请先在那里启动一次 oneloop 并同意，或加上 --trust",
	TreeNoRepository: "这里没有 git 仓库，也就没有工作树；git init 可以建立一个",
	TreeNoCommit:     "仓库里还没有提交，而工作树要从一个提交开始：git commit --allow-empty -m start",
	TreeBare:         "这是裸仓库，没有可以存放工作树的主检出。请用 git worktree add 建立一个，并在那里工作：-C 目录",
	TreeNone:         "没有名为 %s 的工作树；oneloop team worktrees 列出全部",
	TreeUsed:         "工作树 %s 正在使用：请等在其中工作的 oneloop 结束，或换一个名称",
	TreeBranch:       "分支 %s 已在 %s 检出；请在那里工作，或换一个名称",
	TreeName:         "--worktree：%v。不写名称则自动取名，这时请把它写在最后或另一个选项之前",
	TreeHalf:         "已清理只建立或只删除了一半的工作树：%s",
	TreeGone:         "工作树 %s 里没有需要保留的内容，已删除",
	TreeKept:         "成果在 %s：%s\n  git merge wt/%[3]s                             合并其中的提交\n  oneloop --worktree %[3]s                       继续在其中工作\n  oneloop team worktrees remove %[3]s --discard  全部丢弃",
	TreeStays:        "工作树保留在 %s：%s",
	TreeLoss:         "工作树 %s 已保留，否则会丢失：%s。加 --discard 则丢弃",
	TreeRemoved:      "工作树 %s 已删除",
	TreeDiscarded:    "工作树 %s 连同其中的内容已删除；已提交的内容可以用它的分支找回：git branch %s %s",
	TreeEmpty:        "%s 没有 oneloop 的工作树；oneloop --worktree 名称 会在一个工作树里工作",
	TreeClean:        "没有自己的内容",
	TreeInUse:        "正在使用",
	TreeAnd:          "；",
	TreeHint:         "git merge wt/名称 合并其中的提交，oneloop --worktree 名称 继续在其中工作，oneloop team worktrees remove 名称 将其删除",
	TreeSession:      "会话 %s 在 %[3]s 的工作树 %[2]s 里工作，而它已经不在了。oneloop --worktree %[2]s -r %[1]s 会重新建立它（分支还在时从分支开始）；oneloop -C . -r %[1]s 在当前目录继续",
	TreeChanges:      plural{"有 %d 个文件被修改或新建", "有 %d 个文件被修改或新建"},
	TreeAhead:        plural{"有 %d 个提交在别处没有", "有 %d 个提交在别处没有"},
	TreeUnseen:       plural{"有 %d 个文件被设为不让 git 查看", "有 %d 个文件被设为不让 git 查看"},
	TreeSubmodules:   plural{"有 %d 个子模块不是空的", "有 %d 个子模块不是空的"},
	TreeDoing:        "正在进行：git %s",
	TreeBroken:       "无法知道其中有什么：%s",

	ForkUsage:     "fork ID [轮次]；oneloop sessions show ID 会给出各轮的编号",
	ReplayUsage:   "replay ID 或文件；oneloop help replay 有说明",
	ReplaySame:    "会话 %s：%s，%d 个回复，%d 次调用；重放结果相同",
	ReplayStreams: "回复的各个片段与录制一致（%d 个请求）",
	ReplayDiffers: "会话 %s 的重放结果不同：%s",
	ReplayAt:      "第 %d 轮，第 %d 条记录",
	ReplayAtEnd:   "第 %d 轮末尾",
	ReplayCame:    "%s：应为 %s，实为 %s",
	ReplayNothing: "会话 %s 里没有可以重放的轮次",
	ReplayAsks:    "正在询问 %s：会发送请求，照常计费；调用的结果取自日志，不会执行",
	ReplayTable:   [9]string{"原来", "这次", "模型", "轮次", "回复", "调用", "费用", "结束", "回答"},
	ReplayNotRun:  "%d（其中 %d 次不在日志里，没有执行）",
	ReplayBoxed:   "--live-tools 只在沙箱里执行调用，而沙箱已关闭：去掉 --sandbox none，或指定一种这里可用的沙箱（oneloop doctor）",
	ReplayForeign: "要重新执行会话 %s 里的调用吗？",
	ReplayWhy:     "这个会话不是你在这台机器上、这个目录里进行的；其中的命令会在沙箱里、没有网络、在目录的副本上执行",
	ReplayYes:     "会话 %s 不是你在这台机器上、这个目录里进行的，没有得到同意，所以没有执行其中的调用；加 --yes 表示同意",
	ReplayNow:     "工具在 %s 的副本上执行，内容是它现在的样子",
	ReplayThen:    "工具在 %s 的副本上执行，内容尽可能恢复到第一个提示之前：恢复了 %d 项，未能恢复 %d 项",
	ReplayCall:    "第 %d 轮，%s %s",
	ReplayOthers:  "会话 %s：结果与日志不同的调用有 %d 个，共 %d 个",
	ReplayFolder:  "%q 是目录，而会话的日志是文件。用 oneloop sessions 可以列出会话",
	ReplayNoLog:   "%q 不是会话的日志。用 oneloop sessions 可以列出会话",
	ReplayNoFile:  "没有文件 %q。用 oneloop sessions 可以列出会话",
	ReplayNotLive: "没有重新执行、因此没有比较的调用：%s",
	ReplayLeftOut: "没有重放：%s",
	ReplayHelp: `oneloop replay ID        按日志把一个会话重放一遍，看结果是否相同。ID 是编号、
                         编号的开头或名称；也可以是文件
                         （sessions export ID jsonl）

不联网，也不执行任何操作：模型的回复、调用的结果、你的回答、中途输入的话和
出错情况都取自日志，再由真正的循环处理一遍。会话有录制（--record）时，会重新解读
接口的应答，并比较回复的各个片段。

  --trace[=文件]         显示过程，或把事件写入文件
  --test 目录            在目录里写一个 Go 测试：日志，和重放它的文件；可以
                         同时运行你自己的智能体的工具

oneloop replay ID --live-tools [--yes]
                         在沙箱里、没有网络、在这个目录的副本上，重新执行会话
                         里的 Bash、Read、Write、Edit、Glob、Grep 调用，显示
                         哪些结果变了。不是你在这里进行的会话会先询问，可用
                         --yes 表示同意。

oneloop replay ID --model 名称 | --prompt 文件 [--from 轮次]
                         从某一轮起（sessions show 会给出编号）换一个模型，或
                         换成文件里的系统提示词，重新询问，并比较结果、费用和
                         步数。需要密钥，会发送请求，受 --max-cost 与
                         --max-turns 限制。以前做过的调用用日志里的结果回答，
                         其他调用不会执行。

退出码：0 结果相同 · 1 结果不同，并指出位置 · 2 用法错误 · 3 日志无法读取 ·
4 不是你的会话，且无人同意
`,
	SessionLabels:  [5]string{"目录", "模型", "文件", "复制自", "损坏"},
	SessionTurns:   plural{"%d 轮", "%d 轮"},
	SessionRemoved: "已删除 %s",
	AnyFolder:      "任何目录",
	NoTurn:         "没有第 %q 轮；这个会话有 %d 轮",
	PickSession:    "继续哪个对话？",
	ChapterTitles: [len(Chapters)]string{
		"s01：循环和一个工具",
		"s02：更多工具",
		"s03：待办列表",
		"s04：智能体再启动智能体",
		"s05：需要时才载入的说明",
		"s06：不会溢出的窗口",
		"s08：后台命令",
	},
	ChapterNotes: [len(Chapters)]string{
		"一个工具 bash，一行系统提示词。后面的一切都套在这个循环外面，而不是写进循环里。",
		"操作文件的工具：只改要求改的地方。循环只递交调用，不知道它们做什么。",
		"TodoWrite 记住计划。忘了更新，就会在结果后面得到提醒：这一层包在工具外面。",
		"Agent 和别的工具一样，里面运行的还是同一个循环，只是对话从头开始。回来的只有答案。",
		"技能是一个带 SKILL.md 的目录。模型只知道它的名字和一行描述，其余内容作为一次调用的结果得到。",
		"这里把窗口调得很窄。在同一轮的两次调用之间，摘要取代了此前的内容：这由对话记录那一层完成。",
		"命令在后台继续运行，智能体做别的事，或者什么也不做。命令结束时以一条消息告知，智能体由此继续：这由收件箱完成。",
	},
	ChapterNext: `接下来
  oneloop demo %[1]s --trace        同样的内容，外加每个请求和回答
  oneloop --series %[1]s            只有这一章能力的智能体，在你自己的目录里
                                 （需要模型）
  docs/series/%[1]s.zh-CN.md        起作用的那几行代码
`,
	SeriesOther: "会话 %s 继续时也只用开始时的工具（%s）；请去掉 --series 和 --tools",
	SeriesNone:  "没有 --series",
	OtherSeries: "会话 %[1]s 的工具不同（%[2]s）；请单独继续它：oneloop -r %[1]s",
	OtherFolder: "会话 %[1]s 在 %[2]s 中工作；请在那里继续：oneloop -r %[1]s",
	Forked:      "对话的副本从这里继续：%s",
	Renamed:     "对话名称：%q",

	RewindNone:     "还没有说过话，没有地方可以退回",
	NoChoice:       "%q 不在选项之中：什么都没有做，模型也不会收到它",
	RewindPick:     "退回到哪一条输入之前？",
	RewindTitle:    "退回到这一条之前：%s",
	RewindActs:     [3]string{"恢复原样（%d 个）：%s", "重新建立（%d 个）：%s", "删除（%d 个）：%s"},
	RewindYours:    "您或别人也改过，接下来会问（%d 个）：%s",
	RewindLost:     "【不能】恢复：%s：%s",
	RewindLostAll:  "【不能】恢复：%s",
	RewindLeft:     "只有您或别人改过，保持不变（%d 个）：%s",
	RewindMore:     "%s 等，另有 %d 个",
	RewindNothing:  "那以后没有改过文件",
	RewindOff:      "文件不能恢复：%v",
	RewindChoices:  [3]string{"对话和文件", "只退回对话", "只恢复文件"},
	RewindMine:     "这些文件您或别人也改过（%d 个）：%s",
	RewindMineKeep: "保持现在的样子",
	RewindMineTake: "也恢复，现在的内容留一份副本",
	RewindTalk:     "对话已退回到这一条之前：%s",
	RewindDone:     plural{"%d 个文件已恢复原样", "%d 个文件已恢复原样"},
	RewindFailed:   "%s 没有动：%s",
	RewindKept:     "被替换或删除的内容在 %s",
	Losses: [18]string{
		"被忽略文件列出，没有留副本",
		"不是普通文件（管道、套接字或设备）",
		"太大，没有留副本：超过 ",
		"没有留副本，因为副本总量已达到 ",
		"读不出来：",
		"没能留下副本：",
		"还没来得及留副本，又改了一次",
		"git 里已经没有了",
		"git 里的形式不同（换行符或过滤器）",
		"git 没有给出：",
		"开始留副本之前的改动，例如在分叉之前的会话里做的",
		"命令做的改动：",
		"文件数超过 ",
		"查看全部文件太慢",
		"git 的提交、分支和暂存区保持现在的样子",
		"刚刚又被改过，保持不变",
		"目录不是空的：",
		"它的副本或记录已损坏",
	},

	Queued:       "等待中 %d：%s（/queue 查看和修改，Esc 立即送达）",
	Next:         "本轮结束后：%s",
	QueueEmpty:   "没有等待送达的内容",
	QueueHint:    "/queue edit N 文字：修改第 N 条；/queue drop N：收回第 N 条；/queue drop all：全部收回",
	QueueDropped: "已收回：%s",
	QueueGone:    "没有等待中的第 %d 条；/queue 列出全部",
	QueueHeld:    plural{"有 %d 条在等待，将随下一条输入一起送达；/queue 可查看", "有 %d 条在等待，将随下一条输入一起送达；/queue 可查看"},
	QueueOffered: "上次输入但没有送达，将随下一条输入一起送达；不需要的话用 /queue drop 收回：",
	QueueLeft:    "没有送达；已随会话保存，在终端继续该会话时会再次提供：",
	QueueLost:    "没有送达：",
	QueueTask:    "这个会话里有输入过但没有送达的内容，不会随本次任务发送：%s。在终端继续会话（oneloop -c）时会提供",

	SkillUsed:       "使用 %s",
	SkillTaken:      "无法调用：程序自己的命令占用了这个名字",
	SkillModel:      "只供模型使用",
	SkillUser:       "由你调用，模型不会自己加载",
	SkillNew:        "新的：重新启动程序后模型才会知道",
	SkillsNone:      "没有技能，也没有命令。技能是文件 .agents/skills/名字/SKILL.md，命令是 .claude/commands/名字.md，放在这个目录或你的主目录里",
	SkillsUntrusted: "! 这个目录带来的内容没有使用：你没有说信任它。",

	Attached:      "已附上：%s",
	AttachNot:     "未附上：%s：%s",
	AttachMissing: "没有这个文件，文字原样发送",
	AttachOutside: "在工作目录之外，可用 --add-dir 加入",
	AttachNoFile:  "既不是文件也不是目录",
	AttachLink:    "是一个没有指向任何文件的链接",
	AttachDenied:  "不允许读取",
	AttachMore:    plural{"另有 %d 个未附上", "另有 %d 个未附上"},
	AttachMuch:    "附上的内容已经够多，模型可以自行读取",

	HooksWait:     "正在运行会话结束时的钩子；按 Ctrl-C 不再等待",
	HooksLeft:     "会话结束时的钩子被中止了",
	Interrupting:  "正在停止……（再按一次 Ctrl-C 退出）",
	Interrupted:   "已停止；已完成的内容都还在",
	WaitsModel:    "等待模型 · %s",
	WaitsReply:    "模型正在处理 · %s",
	WaitsCall:     "正在运行 · %s",
	WaitsCalls:    "%d 个调用正在运行 · %s",
	LeaveAgain:    "再按一次 Ctrl-C 退出",
	LeaveLater:    "这一轮结束后退出；继续输入则不退出。Ctrl-C 停止这一轮",
	MoreLines:     plural{"…… 还有 %d 行", "…… 还有 %d 行"},
	MoreHits:      plural{"…… 还有 %d 条结果", "…… 还有 %d 条结果"},
	WebSearch:     "联网搜索：%s",
	SearchFailed:  "搜索失败：%s",
	MoreChars:     plural{"…… 还有 %d 个字符", "…… 还有 %d 个字符"},
	MoreBytes:     plural{"……（还有 %d 字节）", "……（还有 %d 字节）"},
	PromptKept:    "输入的内容没有丢：按“上”键可以找回",
	HistoryFailed: "输入记录无法保存到 %s：%v",

	AskYes:     "y  可以，仅此一次",
	AskNo:      "n  不行；“n 理由”会把理由告诉模型",
	TrustYes:   "y  可以，直到其中有改动",
	TrustNo:    "n  不行，不用它们继续",
	AskTitles:  [6]string{"运行这条命令？", "读取这个文件？", "修改这个文件？", "连接这个主机？", "执行这个计划？", "让它继续？"},
	AskTool:    "运行 %s？",
	AskAgent:   "由代理 %s 提出",
	AskIn:      "运行环境：%s",
	Isolations: [8]string{"没有沙箱（用你的权限）", "沙箱", "ns 沙箱", "ll 沙箱", "bwrap 沙箱", "没有网络", "网络按规则", "只读"},
	Comma:      "，",
	AskAlways:  "a  可以，以后都允许：%s（记在 %s）",
	AskSession: "a  可以，本次会话都允许：%s",
	PlanYes:    "y  可以：退出计划模式并执行；“y 内容”可以补充说明",
	PlanNo:     "n  不行，继续计划：“n 内容”说明要改什么；只答 n 则结束这一轮",
	LimitYes:   "y  是，继续",
	LimitNo:    "n  否，结束本轮；n 加文字则继续，并把文字告诉模型",
	AskAgain:   "请回答 y 或 n，再按回车",
	AskAgainA:  "请回答 y、n 或 a，再按回车",
	AskReason:  "原因：%s",
	AskGone:    "这个问题已经作废",
	AskOver:    "问题已经回答过了；再按一次回车，就把这一行发给模型",
	AskHidden:  plural{"…… 还有 %d 字节没有显示；如果必须看到，请回答 n", "…… 还有 %d 字节没有显示；如果必须看到，请回答 n"},
	EditOf:     "第 %d 处修改，共 %d 处",
	EditAll:    "文件里所有相同的地方",
	WriteLines: plural{"整个文件，共 %d 行：", "整个文件，共 %d 行："},
	WordsYes:   "y yes 是 好 可以",
	WordsNo:    "n no 否 不 不行",
	WordsAll:   "a always 总是",
	AnswerYes:  "已允许",
	AnswerNo:   "已拒绝",
	AnswerAll:  "以后都允许：%s",

	ChoiceOne:   "回答序号，或直接用文字说明；- 或 Esc 表示不回答",
	ChoiceMany:  "回答一个或几个序号（如 1 3），或直接用文字说明；- 或 Esc 表示不回答",
	ChoiceFree:  "请用文字回答；- 或 Esc 表示不回答",
	ChoiceAgain: "请选 1 到 %d 的序号，或用文字说明，再按回车",
	ChoiceBlank: "请用文字回答，再按回车；- 表示不回答",
	ChoiceSaid:  "你的回答：%s",
	ChoiceLeft:  "没有回答",

	Thinking:    "思考：",
	Discarded:   "（上面没有说完的回答作废：%s）",
	Retrying:    "%s；%s 后重试（第 %d 次，共 %d 次）",
	DeniedCall:  "已拒绝：%s：%s",
	DeniedRule:  "如要允许：%s",
	DeniedAlone: "无人可问；如要允许：%s",
	LimitNames:  [5]string{"请求次数", "词元", "费用", "时间", "重复"},
	LimitHit:    "达到限额：%s，已用 %s，上限 %s",
	ChildCalls:  plural{"%d 次调用", "%d 次调用"},
	ChildBegins: "子任务 %s：%s",
	ChildDone:   "子任务 %s 已完成",
	ChildFailed: "子任务 %s 失败：%s",
	CostLine:    "输入 %s 词元，输出 %s 词元 · %s",
	CostCached:  "输入 %s 词元（其中缓存 %s），输出 %s 词元 · %s",
	CostCount:   plural{"请求 %d 次", "请求 %d 次"},
	CostTurn:    "本轮 %s · 启动以来 %s",
	CostSoFar:   "累计：%s · %s",
	CostUnknown: "价格未知",

	DemoIntro: `这就是真正的程序：真实的循环、真实的 HTTP、在临时目录里真实执行的 bash。
只有模型是按脚本回答的：它由本机上的一个小服务器扮演，所以不需要密钥，
数据不会离开这台机器，也不花一分钱。
`,
	DemoStep:   "第 %d 步，共 %d 步：%s",
	DemoEnter:  "按回车继续，按 Ctrl-C 退出 ",
	DemoPrompt: "你说：%s",
	DemoTitles: [8]string{
		"创建一个文件",
		"看看目录里有什么",
		"问问 git",
		"建一个目录，放几个文件",
		"北京的天气",
		"一次调用两个工具",
		"工具出错了",
		"子任务",
	},
	DemoNotes: [8]string{
		"模型要求执行一条命令，循环执行它，再把输出交还给模型。",
		"还是同一个循环；看什么由模型决定。",
		"这个目录不是仓库：退出码也会交还给模型，它自己会处理。",
		"一条命令可以做很多事，一个工具就够了。",
		"换一个系统提示词，换一个工具，说中文。循环没有变。",
		"模型可以在一次回复里要求做几件事，结果放在同一条消息里交还。",
		"工具第一次会抛出错误。模型读到错误后，会换一种办法。",
		"在命令里运行 oneloop，就成为这次运行的下级，有自己的对话。",
	},
	DemoNext: `接下来可以
  oneloop                  在自己的目录里和它对话（需要模型）
  oneloop demo --trace     再看一遍，同时显示每个请求和回复
  oneloop "让测试通过"     只做一件事
  docs/                    循环、协议，以及我们的遗憾
`,
	DemoLoop:     "刚才的一切都走了同样的几行代码：问模型，执行它要做的事，交还结果，再来一遍。",
	DemoFailed:   "演示中断了：%v",
	DemoRequests: "向脚本模型请求 %d 次，调用工具 %d 次",
}
