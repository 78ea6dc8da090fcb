package tui

var english = Text{
	Usage: `oneloop: a coding agent in one loop

  oneloop                conversation in this folder
  oneloop "task"         one task: the answer on stdout, progress on stderr;
                         what is piped into stdin is added to the task
  oneloop demo           watch the loop work, without a key; oneloop demo s01:
                         a chapter of the series
  oneloop policy explain [--json] -- 'COMMAND'
                         what the rules decide about it; also policy lint,
                         policy test FILE
  oneloop sessions       the conversations of this folder that are kept; also
                         sessions show, rename, rm, export
  oneloop team worktrees the worktrees of --worktree; also remove NAME
  oneloop fork ID [TURN] a copy of one, up to a turn of it
  oneloop replay ID      take one again from its log; oneloop help replay
  oneloop doctor [--json]
                         what is found here: credential, programs, settings, and
                         which sandbox works
  oneloop models [PROVIDER]
                         the models that can be asked, with windows and prices
  oneloop completion SHELL
                         a script that completes words in bash, zsh or fish
  oneloop version        version and platform
  oneloop help           this screen

Flags
  --model NAME           as in claude-sonnet-5 or deepseek/deepseek-v4-pro
                         (also MODEL_ID, ONELOOP_MODEL)
  --fallback-model NAME  goes on when the model stays overloaded
  --effort LEVEL         low, medium, high, xhigh or max
  --tools LIST           tools the model gets, of Bash, Read, Write, Edit, Glob,
                         Grep, WebFetch, TodoWrite, TaskStop, Agent, Skill,
                         Memory and AskUserQuestion; or "bash": one tool and a
                         system prompt of one line
  --system-prompt TEXT   instead of the built-in system prompt
  --append-system-prompt TEXT
                         after the built-in system prompt
  --image FILE           add a PNG, JPEG, GIF or WebP image to the task
  --series s01 ... s06   an agent with what that chapter of the series has, and
                         no more: docs/series/ (s01 is --tools bash)
  -c, --continue         go on with the last conversation of this folder
  -r, --resume ID        go on with this one (its id, the beginning of that, or
                         its name); without an ID, choose one
  --fork                 with -c or -r: go on with a copy of it
  -C DIR                 work in this folder
  --worktree [NAME]      work in a worktree of the repository, on the branch
                         wt/NAME; without a NAME, one is made up
  --add-dir DIR          work in this folder besides; may be given several times
  -p, --                 what follows is the task, whatever it looks like
  --json-schema FILE     the answer to a task is JSON that fits this schema, or
                         the run fails (exit code 1)
  --max-turns N          at most N requests to the model
  --max-cost USD         at most so many US dollars
  --output-format F      text, json or stream-json
  --include-partial-messages
                         with stream-json: the pieces of a message too
  --permission-mode M    default, acceptEdits, plan, dontAsk, or
                         bypassPermissions (asks nothing; the danger list holds
                         in every mode)
  --allowed-tools RULES  allow these besides, e.g. "Bash(go test:*),Edit"
  --sandbox M            auto (the strongest there is), ns, bwrap, ll, or none:
                         commands run with your rights, and the danger list and
                         your rules decide which
  --web-search           the API may search the web by itself, which it
                         charges for
  --no-memory            no notes from earlier sessions, and none for later ones
  --bell[=SECONDS]       ring the terminal's bell when the agent is done or
                         asks, after a wait of so many seconds (10)
  --trust                use what the folder brings along (settings, hooks,
                         .env, …) unasked
  --trace[=FILE]         show every request and reply, or write the events
                         to FILE
  --record               keep what the API answers, byte for byte, beside the
                         session
  --yes                  (demo) do not wait for Enter
  -h, --help             this screen

Environment
  ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, MODEL_ID,
  OPENAI_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY, … (oneloop models),
  ONELOOP_MODEL, ONELOOP_LANG=en|zh, NO_COLOR; more in docs/

Exit code
  0 done · 1 model or API failed, or a replay came out otherwise · 2 usage ·
  3 key or settings · 4 a call was denied because nobody could be asked ·
  5 a limit · 6 refused or cut · 130/143 signal · 141 nobody reads the answer
`,
	Version:         "oneloop %s (%s, %s)",
	UnknownFlag:     "unknown flag %s; `oneloop help` lists the flags. A task that begins with - goes after --",
	FlagNeeds:       "%s needs a value, e.g. %[1]s=VALUE",
	FlagValue:       "%s: %q will not do; possible: %s",
	ReservedLater:   "%[1]q looks like %[2]q, which is kept for a command of a later version. To make it the task: oneloop -p %[1]q",
	ReservedWord:    "%[1]q looks like the command %[2]q. Type `oneloop %[2]s` for that, or `oneloop -p %[1]q` to make it the task",
	PolicyUsage:     "policy explain [--json] -- 'COMMAND', policy lint [--json], or policy test [--json] FILE",
	ExplainLabels:   [7]string{"decision", "reason", "part", "rule", "file", "wants", "sandboxed"},
	DeniedOne:       "a call was denied because nobody could be asked: %s",
	DeniedMany:      "%d calls were denied because nobody could be asked, the first: %s",
	PolicyTested:    "%d cases, %d decided otherwise",
	NotYet:          "this version has no command %[1]q; `oneloop -p %[1]q` makes the word a task",
	EmptyPrompt:     "the task is empty; say what to do: oneloop \"make the tests pass\"",
	NoTerminal:      "no task and no terminal to talk at; give the task as an argument: oneloop \"make the tests pass\"",
	FlagApart:       "%s does not go together with %s",
	FlagTogether:    "%s goes only with %s",
	PromptTooBig:    "the task is longer than %s, the most that can be sent; put the text into a file and name the file in the task",
	PromptNUL:       "the task contains NUL bytes, so it is no text; put the data into a file and name the file in the task",
	PromptUTF8:      "the task is not valid UTF-8; convert it first, e.g. with iconv -t UTF-8",
	OneTask:         "one task: oneloop --json-schema FILE \"task\"",
	BadFile:         "cannot read %s: %v",
	BadDir:          "cannot work in %s: %v",
	StdinNothing:    "stdin is open and silent; going on without it",
	ExtraWords:      "the command %q takes nothing after it. To make these words a task: oneloop -p %q",
	OtherWords:      "the command %q takes nothing after it but one of: %s. To make these words a task: oneloop -p %q",
	SlashTask:       "%[1]s is a command of the conversation: start oneloop and type it there. To make it a task: oneloop -p %[1]s",
	StdinSilent:     "stdin fell silent after %d bytes; going on with what came",
	NoBash:          "bash was not found; install it (apt-get install bash, brew install bash) or put its folder into PATH",
	TraceFile:       "cannot write the trace to %s: %v; name another file with --trace=FILE",
	SandboxNone:     "no sandbox: commands run with your rights; those that do more than look are asked for, or denied when nobody is there",
	SandboxPlan:     "Commands run in a sandbox: they look at this folder, change nothing but a /tmp of their own, and reach only hosts that you allow.",
	SandboxOn:       "Commands run in a sandbox: they change this folder and a /tmp of their own, and reach only hosts that you allow.",
	NetworkOr:       "# or",
	NetworkBy:       "# of the agent %s:",
	NetworkUsed:     "network: %s",
	SandboxMissing:  "--sandbox none runs commands without one: each that does more than look is then asked for, or denied when nobody is there.",
	ChildFlags:      "not used in a subtask, where the agent above decides: %s",
	BackgroundEnded: "ended what still ran in the background: %s",
	ErrorLine:       "error: %v",
	HintAuth:        "The key was refused at %s. Check that it is complete, still valid, and made for this address (ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL).",
	HintBilling:     "The account at %s cannot pay for this request; top it up or use another key. What was done so far stays done.",
	HintNetwork:     "Nothing answered at %s. Check the address (ANTHROPIC_BASE_URL), the network and HTTPS_PROXY.",
	HintBroken:      "The connection to %s was made and broke before an answer came. What was done so far stays done. Try again; if it stays so, look at what is in between: ANTHROPIC_BASE_URL, HTTPS_PROXY, a firewall.",
	HintCertificate: "The certificate of %s is not one this machine trusts, so nothing was sent. Check the address (ANTHROPIC_BASE_URL), the clock, and whether a proxy with a certificate of its own is in between (SSL_CERT_FILE names further ones).",
	HintRedirect:    "%s redirects to %s, and a key is sent to no address you did not set. If the API is there, set ANTHROPIC_BASE_URL to it; a login page means that a proxy wants you to log in first.",
	HintNotFound:    "There is no model %s at %s; choose one with --model, or check ANTHROPIC_BASE_URL.",
	HintNotAPI:      "What answered at %s is not the Messages API. Check ANTHROPIC_BASE_URL; a login page or a proxy may be in between.",
	HintInvalid:     "%s refused the request as it is, so the same one will not do later either. Change what the message names (--model and --effort, perhaps), or begin a new conversation. What was done so far stays done.",
	HintTooLarge:    "%s takes no request of this size. Make this conversation shorter (/compact), begin a new one (/clear), or give less at once: smaller images, and long texts in a file that the task names.",
	HintCut:         "The connection to %s ended in the middle of a reply, which is void. What was done before it stays done. Try again; if it stays so, a proxy may cut long replies.",
	HintStalled:     "%s fell silent in the middle of a request. What was done so far stays done. Try again; ONELOOP_IDLE_TIMEOUT and ONELOOP_PROGRESS_TIMEOUT set how long silence may last.",
	HintServer:      "The fault lies with %s. What was done so far stays done. Try again in a moment; if it stays so, look at the service's status page, or check ANTHROPIC_BASE_URL.",
	HintBusy:        "%s is busy. What was done so far stays done; try again in a moment.",
	HintBusyUntil:   "%s wants to be left alone until %s. What was done so far stays done; try again then, or use another key or model.",
	HintTooLong:     "It was made as short as it can be. Give less at once: long texts go into a file that the task names; or begin a new conversation (/clear).",
	HintRefused:     "Say the task differently or choose another model with --model.",
	HintPaused:      "The API did not let the model come to an end; try again, or ask for less at a time.",
	HintTruncated:   "The reply was cut at the output limit; ask for it in smaller parts.",
	HintLimit:       "What was done so far stays done. %s sets the limit.",
	HintOtherLimit:  "What was done so far stays done; say what is left as a new task.",
	NoKey: `oneloop needs a model to talk to. Four ways to go on:

  a key          export ANTHROPIC_API_KEY=sk-ant-...
                 from your provider's console; or put that line, without
                 export, into ~/.config/oneloop/config.env. Others, such as
                 OPENAI_API_KEY or DEEPSEEK_API_KEY: oneloop models lists them
  a proxy        export ANTHROPIC_BASE_URL=https://...
                 export ANTHROPIC_AUTH_TOKEN=...
                 any service that speaks the Messages API
  a local model  Ollama at localhost:11434 is found by itself once it has a
                 model; others: --model vllm/NAME, llamacpp/NAME, lmstudio/NAME
  no model yet   oneloop demo
                 the real loop with a scripted model, no key, no cost
`,

	DoctorLabels:    [7]string{"folder", "credential", "model", "endpoint", "terminal", "settings", "sandbox"},
	DoctorNone:      "none",
	NoKeyFor:        "there is no key for %s: set %s in the environment or in ~/.config/oneloop/config.env, or choose another model with --model (oneloop models lists them)",
	OnlyProvider:    "no model is named and only %s is set up (%s): %s is asked.",
	SeveralToAsk:    "there are keys of several providers and no model is named; choose one with --model or ONELOOP_MODEL: %s",
	NoUsualModel:    "there is a key for %[1]s, which has no usual model; choose one with --model %[1]s/NAME or ONELOOP_MODEL=%[1]s/NAME (oneloop models %[1]s lists them)",
	CloudMissing:    "models on %s are asked through the program %s, which is not at %s: `make cloud` builds it, put it there",
	OllamaFound:     "No key is set. The Ollama on this machine (%s) answers, so %s is asked; --model chooses another one.",
	ModelsUsage:     "models [--json] [PROVIDER]: what is set up and answers; with PROVIDER all of its models",
	ModelsReached:   "answers",
	ModelsNoKey:     "no key: set %s",
	ModelsThrough:   "asked through the program %s, which has no list of models",
	ModelsNot:       "does not answer: %s",
	ModelsMore:      "and %d more: oneloop models %s",
	ModelsMissing:   "not set up (the variable of the key):",
	ModelsEnd:       "Window / longest reply in tokens, US dollars per million tokens in / out; as known on %s.",
	ModelsAsked:     "Asked is %s; --model NAME or /model NAME chooses.",
	ModelsNobody:    "No model is asked yet; --model NAME or ONELOOP_MODEL chooses.",
	ModelUnknown:    "unknown",
	ModelNoPrice:    "price unknown",
	ModelNotServed:  "not in its list now",
	ModelAbilities:  [2]string{"images", "reasoning"},
	ModelIs:         "model %s  %s tokens  %s  %s",
	ModelChange:     "/model NAME asks another one from now on, as in /model deepseek/deepseek-v4-pro; the conversation goes on. `oneloop models` lists them.",
	FallsBack:       "%s goes on: %v",
	DoctorNoKey:     "no credential: set ANTHROPIC_API_KEY or that of another provider (oneloop models), or see what `oneloop` says without one",
	DoctorNoSandbox: "the sandbox that is asked for does not work here, so no command would run.",
	DoctorRead:      "used",
	DoctorUntrusted: "not trusted, so not used",
	DoctorPicked:    "%s (asked for: %s)",
	DoctorWorks:     "works",
	DoctorFails:     "%s: does not work: %s",
	DoctorWeaker:    "weaker: %s",
	DoctorMend:      "what helps: %s",
	DoctorWell:      "Nothing is missing.",
	DoctorLacks:     "Missing: %s",

	TrustTitle:   "Trust what %s brings along?",
	TrustReason:  "whoever wrote the folder wrote that too, and what it says is done with your rights; say yes only if you know who that is",
	TrustChanged: "changed since you trusted it",
	TrustKinds: [8]string{
		"settings, which can run commands, let calls run unasked and add folders to write in",
		"servers of tools, which are programs to start or addresses to connect to",
		"variables, which decide where your conversation and a key are sent",
		"scripts, which hooks can run",
		"instructions to the model",
		"agents that the model can start",
		"prompts to be called by name",
		"skills, which instruct the model and bring programs along",
	},

	Welcome:     "oneloop %s · %s · %s",
	WelcomeHint: "Say what to do. /help lists the commands, Ctrl-C stops a turn, Ctrl-D leaves.",
	Help: `  /help           this list
  /clear          begin a new conversation
  /resume [ID]    go on with another conversation of this folder
  /fork           go on with a copy, and leave this one as it is
  /rewind         go back to before a prompt: the conversation, files or both
  /rename NAME    give the conversation a name
  /compact [TEXT] sum up what came before; TEXT says what is to be kept
  /context        what fills the model's window
  /cost           what was used so far, by model and turn
  /agents         agents that are defined, and those of this conversation
  /diff           what its tools on files have changed since the start
  /init           have it write AGENTS.md, the instructions of this folder
  /jobs           commands in the background
  /todo           the agent's todo list
  /memory         its notes for later sessions; NAME shows one, delete NAME
                  deletes it
  /mode           the permission mode; /mode NAME sets another one
  /model          the model; /model NAME goes on with another one
  /queue          what you typed that waits for the model, and changes to it
  /worktrees      worktrees of the repository; remove NAME [--discard]
                  removes one
  /skills         skills and commands of this folder and yours; /NAME [WORDS]
                  calls one
  /permissions    the permission mode and the rules in force
  /sandbox        what confines commands, and where it is weaker
  !COMMAND        run it at once, with your rights; the model reads its output
                  with your next words
  @PATH           a file, folder or image that comes with your words
  q, exit, Ctrl-D leave

  Enter           send               Alt-Enter, \ Enter   new line
  Up, Down        earlier prompts    Ctrl-C, Esc          stop the turn
  Ctrl-A, Ctrl-E  begin, end         Ctrl-U, Ctrl-K       delete to begin, end
  Ctrl-W          delete a word      Ctrl-Y               put it back
  Ctrl-L          clear the screen   Ctrl-Z               suspend
  Tab             complete a @path or a command
  Shift+Tab       next permission mode

  You may type while a turn runs: what you send reaches the model after the
  calls that run now, or at once when you press Esc.
`,
	CommandsIn:   "commands run in: %s",
	CommandsWeak: "weaker here than it could be: %s",
	ModeIs:       "permission mode %s: %s",
	Modes: [5]string{
		"what neither a rule nor the sandbox decides is asked",
		"edits in the workspace are made unasked, else as default",
		"nothing is changed until you accept a plan",
		"what would be asked is denied",
		"nothing is asked; the danger list and rules that deny still hold",
	},
	ModeFrom:       "set by %s",
	ModeStands:     "mode %s",
	ModesHead:      "/mode NAME sets another one, which counts from the next call on:",
	ModesKey:       "Shift+Tab goes through default, acceptEdits and plan.",
	ModeNone:       "%q is no permission mode; /mode lists them. Nothing was changed",
	ModeJobs:       "What runs in the background goes on as it was started.",
	PlanNone:       "There is no sandbox, so only what cannot change anything runs.",
	BypassNone:     "Whatever the model calls runs at once and with all your rights: a command can change any file of yours and connect to any host, and nobody looks first. /mode default ends this.",
	BypassSandbox:  "Whatever the model calls runs at once: connections to any host, and edits, also of protected files. Commands stay in the sandbox. /mode default ends this.",
	AlsoIn:         "also working in: %s",
	RulesNone:      "no rules",
	RulesHead:      "rules, the strictest first; deny beats ask, ask beats allow:",
	RulesOther:     "rules that do not count:",
	RulesElse:      "where no rule decides: commands run confined and edits in the workspace are made, unasked; other hosts are asked; tools on files work there and in folders of --add-dir only",
	RulesElseNone:  "where no rule decides: what only looks runs; everything else is asked; tools on files work in the workspace and in folders of --add-dir only",
	RulesChange:    "to change it: permissions.allow, ask and deny in %s (yours) or %s (this folder); oneloop policy lint checks them. /mode sets the mode",
	SandboxWrite:   "they may change: %s",
	SandboxHidden:  "files and folders they see nothing of (keys, logins): %d",
	SandboxHosts:   "hosts that rules allow: %s; others are asked",
	SandboxNoNet:   "they reach no host",
	SandboxFailed:  "%s does not work here: %s",
	SandboxChange:  "to change it: --sandbox auto, ns, bwrap, ll or none at the start, or \"sandbox\" in %s; --add-dir for further folders. oneloop doctor says what would make it stronger",
	SandboxLimits:  "limits of each command: %s",
	SandboxLimit:   [4]string{"processes and threads %s", "memory %s", "one file %s", "files it changes together %s"},
	LimitNone:      "none",
	NoDiff:         "no file has changed",
	NoJobs:         "nothing was started in the background",
	JobRuns:        "%s  runs for %v: %s\n  its output is in %s",
	JobEnded:       "%s  has ended: %s\n  %s",
	TodoNone:       "the agent has no todo list",
	TodoHead:       "todo (%d of %d done)",
	MemoryOff:      "no notes are kept: --no-memory, the setting memory, or no folder to keep them in",
	MemoryNone:     "no notes; tell the agent what it is to remember",
	MemoryIn:       "in %s",
	MemoryNot:      "there is no note %q; /memory lists those there are",
	MemoryWhich:    "which note? /memory delete NAME; /memory lists them",
	MemoryGone:     "%s is deleted",
	UnknownSlash:   "there is no command %s; /help lists them. A space in front sends the line to the model",
	SlashAlone:     "%s stands alone; nothing was done. A space in front sends the line to the model",
	Cleared:        "a new conversation begins",
	Background:     plural{"%d command runs in the background", "%d commands run in the background"},
	NoCost:         "nothing was used yet",
	AgentsDefined:  "agents that are defined (.oneloop/agents, .claude/agents, and those folders of your own):",
	AgentsNone:     "none",
	AgentsOfThis:   "agents of this conversation (oneloop -r ID goes on with one):",
	NothingShorter: "there is nothing to make shorter yet",
	WindowUsed:     "the window: %s of %s tokens, %d%%; its parts are estimates",
	WindowUnknown:  "the window: %s tokens; how many the model takes is not known. The parts are estimates",
	WindowAbout:    "about %s",
	WindowParts: [10]string{"system prompt", "tools", "summary", "prompts", "replies", "reasoning", "calls", "results of calls", "images and documents",
		"other"},
	WindowFree:    "free",
	WindowLimit:   "beyond %s tokens the conversation is made shorter; /compact does it now",
	WindowRefused: "when the API finds it too long the conversation is made shorter; /compact does it now",
	BillSubtasks:  "subtasks",
	BillTurn:      "turn %d",
	Shortened:     "the conversation was made shorter: a summary stands for its earlier part (%s tokens before, %s now)",
	SummedUp:      "The conversation was summed up, which made it no shorter (%s tokens before, %s now).",
	LogTrouble:    "the conversation cannot be kept at the moment: %v. The work goes on, and what is missing is written as soon as it can be",
	LogKept:       "the conversation is kept again, with all that was missing",
	LogDamaged:    "the log of session %s is damaged, %v; the rest is used, and the file is left as it is",
	LogTorn:       "the last line of the log of session %s was not written to its end and was cut off; nothing that was acted on is lost",
	LogLost:       "the last %d entries of the conversation are lost, they could not be written to %s: %s",
	NothingKept:   "no sessions are kept: there is no folder for them that can be written. Set HOME or XDG_STATE_HOME",
	NoSession:     "%v. oneloop sessions lists them",
	NoSuchSession: "there is no session %q. oneloop sessions lists them",
	NotSaid:       "nothing was said yet that a fork could go on with",
	RenameHow:     "/rename NAME gives the conversation a name",
	OwnHow:        "!COMMAND runs a command of your own: !git status",

	NoSessionHere: "no session of %s is kept; begin one with a task, or without -c",
	SessionInUse:  "session %s is open in another oneloop. Wait for its end, or go on with a copy of it: add --fork",
	SessionBusy:   "session %s is open in another oneloop. Wait for its end",
	Resumed:       "going on with: %s (%s)",
	ResumeHint:    "to go on with this conversation: oneloop -r %s",
	ShellUsage:    "completion bash, completion zsh, or completion fish: a script for that shell, as in eval \"$(oneloop completion bash)\"",
	SessionsUsage: "sessions [list [--all] [--json]], sessions show ID, sessions rename ID NAME, sessions rm ID ..., or sessions export ID [md|jsonl]",

	TreeUsage:        "team worktrees, or team worktrees remove NAME [--discard]",
	TreeUntrusted:    "not all that %s brings along is trusted, and git is not run where it is not. Start oneloop there once and say yes, or add --trust",
	TreeNoRepository: "there is no git repository here, so no worktree of it; git init makes one",
	TreeNoCommit:     "the repository has no commit yet, and a worktree begins at one: git commit --allow-empty -m start",
	TreeBare:         "the repository is a bare one, without a main checkout to keep worktrees in. Make one with git worktree add, and work there: -C FOLDER",
	TreeNone:         "there is no worktree %s; oneloop team worktrees lists them",
	TreeUsed:         "the worktree %s is in use: wait until the oneloop that works in it has ended, or take another name",
	TreeBranch:       "the branch %s is checked out in %s; work there, or take another name",
	TreeName:         "--worktree: %v. Without a name, which is made up then, write it last or before another flag",
	TreeHalf:         "worktrees that were left half made or half removed are tidied up: %s",
	TreeGone:         "nothing is left to keep of the worktree %s: it is removed",
	TreeKept:         "the work is in %s: %s\n  git merge wt/%[3]s                             takes its commits over\n  oneloop --worktree %[3]s                       goes on in it\n  oneloop team worktrees remove %[3]s --discard  throws it away",
	TreeStays:        "the worktree stays in %s: %s",
	TreeLoss:         "the worktree %s is kept, for this would be lost: %s. --discard throws it away",
	TreeRemoved:      "the worktree %s is removed",
	TreeDiscarded:    "the worktree %s is removed, with all that was in it; its branch brings back what was committed: git branch %s %s",
	TreeEmpty:        "%s has no worktrees of oneloop; oneloop --worktree NAME works in one",
	TreeClean:        "nothing of its own",
	TreeInUse:        "in use",
	TreeAnd:          "; ",
	TreeHint:         "git merge wt/NAME takes over what was committed, oneloop --worktree NAME goes on in it, oneloop team worktrees remove NAME removes it",
	TreeSession:      "session %s worked in the worktree %s of %s, which is gone. oneloop --worktree %[2]s -r %[1]s makes it again (from its branch, if that is there); oneloop -C . -r %[1]s goes on in this folder",
	TreeChanges:      plural{"%d file changed or new", "%d files changed or new"},
	TreeAhead:        plural{"%d commit that is nowhere else", "%d commits that are nowhere else"},
	TreeUnseen:       plural{"%d file that git was told not to look at", "%d files that git was told not to look at"},
	TreeSubmodules:   plural{"%d submodule that is not empty", "%d submodules that are not empty"},
	TreeDoing:        "under way: git %s",
	TreeBroken:       "what is in it cannot be known: %s",

	ForkUsage:     "fork ID [TURN]; oneloop sessions show ID numbers the turns",
	ReplayUsage:   "replay ID or FILE; oneloop help replay says more",
	ReplaySame:    "session %s: %s, replies: %d, calls: %d; the replay came out the same",
	ReplayStreams: "the pieces of the replies match the recording (requests: %d)",
	ReplayDiffers: "session %s came out otherwise: %s",
	ReplayAt:      "turn %d, entry %d",
	ReplayAtEnd:   "turn %d, at its end",
	ReplayCame:    "%s: expected %s, came %s",
	ReplayNothing: "session %s has no turn that could be replayed",
	ReplayAsks:    "asking %s: this sends requests, which are charged as usual; calls are answered from the log and not run",
	ReplayTable:   [9]string{"original", "again", "model", "turns", "replies", "calls", "cost", "ended", "answer"},
	ReplayNotRun:  "%d (%d not in the log, so not run)",
	ReplayBoxed:   "--live-tools runs calls in a sandbox only, and the sandbox is off: leave out --sandbox none, or name one that works here (oneloop doctor)",
	ReplayForeign: "Run the calls of session %s again?",
	ReplayWhy:     "it was not made by you, here, in this folder; its commands run in the sandbox, without a network, on a copy of the folder",
	ReplayYes:     "session %s was not made by you, here, in this folder, and its calls were not run: nobody said yes; --yes does",
	ReplayNow:     "tools run on a copy of %s as it is now",
	ReplayThen:    "tools run on a copy of %s as it was before the first prompt, as far as that is known: brought back %d, not brought back %d",
	ReplayCall:    "turn %d, %s %s",
	ReplayOthers:  "session %s: other answers than in the log: %d of %d calls",
	ReplayFolder:  "%q is a folder; the log of a session is a file. oneloop sessions lists them",
	ReplayNoLog:   "%q is no log of a session; oneloop sessions lists them",
	ReplayNoFile:  "there is no file %q; oneloop sessions lists the sessions",
	ReplayNotLive: "not run again, so not compared: calls of %s",
	ReplayLeftOut: "left out: %s",
	ReplayHelp: `oneloop replay ID        take a session again from its log, and say whether it
                         comes out the same. ID is its id, the beginning of
                         that, or its name; or a file (sessions export ID jsonl)

Nothing goes over the network and nothing is run: the model's replies, the
results of calls, answers, what was typed meanwhile and failures come from the
log, and go through the real loop. Of a session with a recording (--record) the
bytes of the API are read again, and the pieces of the replies compared too.

  --trace[=FILE]         show what happens, or write the events to FILE
  --test DIR             write a Go test of it into DIR: the log, and a file
                         that replays it, beside the tools of an agent of yours

oneloop replay ID --live-tools [--yes]
                         run its Bash, Read, Write, Edit, Glob and Grep calls
                         again, in the sandbox, without a network, on a copy of
                         this folder, and show which answers are others now. A
                         session that you did not make, here, is asked about
                         first; --yes answers.

oneloop replay ID --model NAME | --prompt FILE [--from TURN]
                         ask again, from a turn on (sessions show numbers them),
                         another model or with the system prompt in FILE, and
                         compare outcome, cost and steps. This needs a key and
                         sends requests; --max-cost and --max-turns hold. A call
                         that was made before gets its answer of the log, others
                         are not run.

Exit code: 0 it came out the same · 1 it did not, and the place is named ·
2 usage · 3 the log cannot be read · 4 it is not your session, and nobody said
yes
`,
	SessionLabels:  [5]string{"folder", "model", "file", "forked from", "damage"},
	SessionTurns:   plural{"%d turn", "%d turns"},
	SessionRemoved: "removed %s",
	AnyFolder:      "any folder",
	NoTurn:         "there is no turn %q; the session has %d",
	PickSession:    "Which conversation?",
	ChapterTitles: [len(Chapters)]string{
		"s01: the loop and one tool",
		"s02: more tools",
		"s03: a list of what is to be done",
		"s04: an agent starts others",
		"s05: instructions that are loaded when they are needed",
		"s06: a window that does not overflow",
		"s08: commands in the background",
	},
	ChapterNotes: [len(Chapters)]string{
		"One tool, bash, and a system prompt of one line. All that follows is put around this loop, not into it.",
		"Tools on files: they change what they were asked to and nothing else. The loop hands over calls; it does not know what they do.",
		"TodoWrite keeps the plan. Who forgets it is reminded, behind the results: the wrapper sits on the tools.",
		"Agent is a tool like any other; inside, the same loop runs with a history of its own. Only the answer comes back.",
		"A skill is a folder with a SKILL.md. The model knows its name and one line; the rest comes as the result of a call.",
		"The window is made narrow here. A summary takes the place of what came before, between two calls of one turn: the transcript does that.",
		"A command goes on while the agent does something else, or nothing. Its end is told in a message, and is a reason to go on: the inbox does that.",
	},
	ChapterNext: `What next
  oneloop demo %[1]s --trace        the same, with every request and reply
  oneloop --series %[1]s            an agent with just this, in a folder of yours
                                 (needs a model)
  docs/series/%[1]s.md              the few lines that do it
`,
	SeriesOther: "session %s has the tools it began with (%s), also when it is gone on with; leave out --series and --tools",
	SeriesNone:  "no --series",
	OtherSeries: "session %[1]s has other tools (%[2]s); go on with it by itself: oneloop -r %[1]s",
	OtherFolder: "session %[1]s works in %[2]s; go on with it there: oneloop -r %[1]s",
	Forked:      "a copy of the conversation goes on as %s",
	Renamed:     "the conversation is called %q",

	RewindNone:     "nothing was said yet that could be gone back to",
	NoChoice:       "%q is none of the choices: nothing was done, and the model does not get it",
	RewindPick:     "Go back to before which prompt?",
	RewindTitle:    "Back to before: %s",
	RewindActs:     [3]string{"brought back (%d): %s", "made again (%d): %s", "removed (%d): %s"},
	RewindYours:    "also changed by you or somebody else, asked about next (%d): %s",
	RewindLost:     "does NOT come back: %s: %s",
	RewindLostAll:  "does NOT come back: %s",
	RewindLeft:     "changed by you or somebody else only, stays (%d): %s",
	RewindMore:     "%s and %d more",
	RewindNothing:  "no file was changed since",
	RewindOff:      "files cannot be brought back: %v",
	RewindChoices:  [3]string{"conversation and files", "only the conversation", "only the files"},
	RewindMine:     "These were also changed by you or somebody else (%d): %s",
	RewindMineKeep: "leave them as they are",
	RewindMineTake: "bring them back too; what they hold now is kept",
	RewindTalk:     "the conversation is back to before: %s",
	RewindDone:     plural{"%d file is as it was", "%d files are as they were"},
	RewindFailed:   "%s stays: %s",
	RewindKept:     "what was replaced or removed is in %s",
	Losses: [18]string{
		"an ignore file named it, so no copy was kept",
		"it was no file (a pipe, a socket or a device)",
		"it is too large to be copied: more than ",
		"no copy was kept, since the copies have reached ",
		"it could not be read: ",
		"no copy could be kept: ",
		"it was changed again before a copy could be kept",
		"git no longer has it",
		"git has it in another form (line ends or a filter)",
		"git did not tell: ",
		"what was changed before copies were kept, such as in the session this one is a fork of",
		"what commands changed: ",
		"there are more files than ",
		"looking at all files takes too long",
		"commits, branches and the index of git stay as they are now",
		"it was changed meanwhile, so it stays as it is",
		"it is not empty: ",
		"the copy of it, or what was known of it, is damaged",
	},

	Queued:       "waits as %d: %s  (/queue shows and changes what waits, Esc has it said at once)",
	Next:         "after this turn: %s",
	QueueEmpty:   "nothing waits for the model",
	QueueHint:    "/queue edit N TEXT changes line N, /queue drop N takes it back, /queue drop all every one",
	QueueDropped: "taken back: %s",
	QueueGone:    "no line %d waits; /queue lists them",
	QueueHeld:    plural{"%d line waits and goes with your next prompt; /queue shows it", "%d lines wait and go with your next prompt; /queue shows them"},
	QueueOffered: "typed the last time and not delivered; it goes with your next prompt, unless /queue drop takes it back:",
	QueueLeft:    "not delivered; kept with the conversation, and offered when it is gone on with at a terminal:",
	QueueLost:    "not delivered:",
	QueueTask:    "lines that were typed in this conversation wait and are not sent with this task: %s. A conversation at the terminal (oneloop -c) offers them",

	SkillUsed:       "uses %s",
	SkillTaken:      "cannot be called: a command of the program has the name",
	SkillModel:      "for the model only",
	SkillUser:       "you call it; the model does not load it",
	SkillNew:        "new: the model hears of it when the program is started again",
	SkillsNone:      "There are no skills and no commands. A skill is a file .agents/skills/NAME/SKILL.md, a command .claude/commands/NAME.md, in this folder or in your home folder",
	SkillsUntrusted: "! What this folder brings along is not used: you did not say that it is trusted.",

	Attached:      "attached: %s",
	AttachNot:     "not attached: %s: %s",
	AttachMissing: "there is no such file; the text goes as it is",
	AttachOutside: "it is outside of the folders that are worked in; --add-dir adds one",
	AttachNoFile:  "it is neither a file nor a folder",
	AttachLink:    "it is a link that leads to no file",
	AttachDenied:  "reading it was denied",
	AttachMore:    plural{"%d more is not attached", "%d more are not attached"},
	AttachMuch:    "enough is attached already; the model can read it",

	HooksWait:     "hooks run at the end of the session; Ctrl-C ends the wait",
	HooksLeft:     "the hooks at the end of the session were stopped",
	Interrupting:  "stopping … (Ctrl-C again leaves)",
	Interrupted:   "stopped; what was done so far is kept",
	WaitsModel:    "waiting for the model · %s",
	WaitsReply:    "the model is at work · %s",
	WaitsCall:     "running · %s",
	WaitsCalls:    "%d calls running · %s",
	LeaveAgain:    "Ctrl-C again leaves",
	LeaveLater:    "leaving when the turn is over; type on to stay. Ctrl-C stops the turn",
	MoreLines:     plural{"… %d more line", "… %d more lines"},
	MoreHits:      plural{"… %d more result", "… %d more results"},
	WebSearch:     "web search: %s",
	SearchFailed:  "the search failed: %s",
	MoreChars:     plural{"… %d more character", "… %d more characters"},
	MoreBytes:     plural{"… (%d more byte)", "… (%d more bytes)"},
	PromptKept:    "your text is kept: the Up key brings it back",
	HistoryFailed: "earlier prompts are not kept in %s: %v",

	AskYes:     "y  yes, once",
	AskNo:      "n  no; n REASON tells the model why",
	TrustYes:   "y  yes, until one of these changes",
	TrustNo:    "n  no, go on without them",
	AskTitles:  [6]string{"Run this command?", "Read this?", "Change this file?", "Connect to this host?", "Carry out this plan?", "Let it go on?"},
	AskTool:    "Run %s?",
	AskAgent:   "the agent %s asks",
	AskIn:      "runs in: %s",
	Isolations: [8]string{"no sandbox (with your rights)", "a sandbox", "ns sandbox", "ll sandbox", "bwrap sandbox", "no network", "network by rules", "read-only"},
	Comma:      ", ",
	AskAlways:  "a  yes, and from now on: %s (kept in %s)",
	AskSession: "a  yes, and for the rest of this session: %s",
	PlanYes:    "y  yes: plan mode ends and it is carried out; y WORDS adds something",
	PlanNo:     "n  no, keep planning: n WORDS says what to change; n alone ends the turn",
	LimitYes:   "y  yes, go on",
	LimitNo:    "n  no, end the turn; n TEXT goes on and tells the model TEXT",
	AskAgain:   "answer y or n, then Enter",
	AskAgainA:  "answer y, n or a, then Enter",
	AskReason:  "why: %s",
	AskGone:    "the question is void",
	AskOver:    "the question was answered already; Enter again sends this line to the model",
	AskHidden:  plural{"… %d byte is not shown; answer n if you must see it", "… %d bytes are not shown; answer n if you must see them"},
	EditOf:     "edit %d of %d",
	EditAll:    "everywhere in the file",
	WriteLines: plural{"the whole file, %d line:", "the whole file, %d lines:"},
	WordsYes:   "y yes",
	WordsNo:    "n no",
	WordsAll:   "a always",
	AnswerYes:  "allowed",
	AnswerNo:   "refused",
	AnswerAll:  "allowed from now on: %s",

	ChoiceOne:   "a number, or your own words; - or Esc leaves it open",
	ChoiceMany:  "one or more numbers (as in 1 3), or your own words; - or Esc leaves it open",
	ChoiceFree:  "your own words; - or Esc leaves it open",
	ChoiceAgain: "choose a number from 1 to %d, or say it in words, then Enter",
	ChoiceBlank: "say it in words, then Enter; - leaves it open",
	ChoiceSaid:  "your answer: %s",
	ChoiceLeft:  "left open",

	Thinking:    "thinking: ",
	Discarded:   "(the unfinished answer above is void: %s)",
	Retrying:    "%s; trying again in %s (try %d of %d)",
	DeniedCall:  "denied: %s: %s",
	DeniedRule:  "to allow it: %s",
	DeniedAlone: "nobody could be asked; to allow it: %s",
	LimitNames:  [5]string{"turns", "tokens", "cost", "time", "repetition"},
	LimitHit:    "limit reached: %s, %s of %s",
	ChildCalls:  plural{"%d call", "%d calls"},
	ChildBegins: "subtask %s: %s",
	ChildDone:   "subtask %s is done",
	ChildFailed: "subtask %s failed: %s",
	CostLine:    "tokens: %s in, %s out · %s",
	CostCached:  "tokens: %s in (%s from the cache), %s out · %s",
	CostCount:   plural{"%d request", "%d requests"},
	CostTurn:    "turn %s · since the start %s",
	CostSoFar:   "session · %s · %s",
	CostUnknown: "price unknown",

	DemoIntro: `This is the real program: the real loop, real HTTP, real bash in a temporary
folder. Only the model is scripted: a small server on this machine plays its
part, so no key is needed, nothing leaves this machine and nothing costs money.
`,
	DemoStep:   "Step %d of %d: %s",
	DemoEnter:  "press Enter to go on, Ctrl-C to leave ",
	DemoPrompt: "you say: %s",
	DemoTitles: [8]string{
		"create a file",
		"look around",
		"what git says",
		"a folder of files",
		"the weather in Beijing",
		"two calls at once",
		"a tool that fails",
		"a subtask",
	},
	DemoNotes: [8]string{
		"The model asks for a command, the loop runs it and hands back what it printed.",
		"The same loop; the model decides what to look at.",
		"A folder without a repository: the exit code goes back too, and the model copes.",
		"One command may do a lot; one tool is enough.",
		"Another system prompt and another tool, in Chinese. The loop did not change.",
		"The model may ask for several things in one reply; all are answered in one message.",
		"The tool raises an error once. The model reads it and tries something else.",
		"oneloop inside a command becomes a child of this run, with its own conversation.",
	},
	DemoNext: `What next
  oneloop                        talk to it in a folder of yours (needs a model)
  oneloop demo --trace           the same, with every request and reply
  oneloop "make the tests pass"  one task
  docs/                          the loop, the wire, and what we regret
`,
	DemoLoop:     "All of it ran through the same few lines: ask the model, run what it asks for, hand back the results, again.",
	DemoFailed:   "the demo broke off: %v",
	DemoRequests: "requests to the scripted model: %d, tool calls: %d",
}
