package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"oneloop"
)

// Chapters are those of the series, in order.
var Chapters = [...]string{"s01", "s02", "s03", "s04", "s05", "s06", "s08"}

// Text is everything the program says to a person in one language. Fields
// whose comment names arguments are formats for [fmt.Sprintf]; the test of
// this package holds all tables to the same arguments. Error values, logs,
// JSON and what the model reads stay English and are not in here.
type Text struct {
	_ [0]func() // not to be compared, which takes 20 KB of code

	// The command line.
	Usage           string // the whole help screen
	Version         string // version, Go version, platform
	UnknownFlag     string // flag
	FlagNeeds       string // flag
	FlagValue       string // flag, value, what is possible
	ReservedLater   string // the word typed, a command of a later version
	ReservedWord    string // the word typed, the command meant
	PolicyUsage     string
	ExplainLabels   [7]string // decision, reason, part, rule, file, rules that would allow it, sandboxed
	DeniedOne       string    // reason
	DeniedMany      string    // number of calls, reason of the first
	PolicyTested    string    // cases, those decided otherwise
	NotYet          string    // command that this version does not have
	EmptyPrompt     string
	NoTerminal      string
	FlagApart       string // two flags
	FlagTogether    string // a flag, what it belongs to
	PromptTooBig    string // limit
	PromptNUL       string
	PromptUTF8      string
	NoKey           string // the ways to go on
	OneTask         string // as opposed to a conversation
	BadFile         string // file, error
	BadDir          string // folder, error
	StdinNothing    string //
	ExtraWords      string // the command, all the words
	OtherWords      string // the command, those that may follow it, all the words
	SlashTask       string // the command of a conversation
	StdinSilent     string // number of bytes
	NoBash          string
	TraceFile       string // file, error
	SandboxNone     string
	SandboxOn       string
	SandboxPlan     string // as long as a plan is made
	NetworkOr       string // between commands of which one connects
	NetworkBy       string // above one of them: path of its agent
	NetworkUsed     string // hosts, with connections and bytes
	SandboxMissing  string
	ChildFlags      string // flags
	BackgroundEnded string // the commands
	ErrorLine       string // error
	HintAuth        string // base URL
	HintBilling     string // base URL
	HintNetwork     string // base URL
	HintBroken      string // base URL
	HintCertificate string // base URL
	HintRedirect    string // base URL, where it redirects to
	HintNotFound    string // model, base URL
	HintNotAPI      string // base URL
	HintInvalid     string // base URL
	HintTooLarge    string // base URL
	HintCut         string // base URL
	HintStalled     string // base URL
	HintServer      string // base URL
	HintBusy        string // base URL
	HintBusyUntil   string // base URL, time
	HintTooLong     string
	HintRefused     string
	HintTruncated   string
	HintPaused      string
	HintLimit       string // flag that raises it
	HintOtherLimit  string

	// The command doctor.
	DoctorLabels    [7]string // folder, credential, model, endpoint, terminal, settings, sandbox
	DoctorNone      string
	NoKeyFor        string // provider, variables
	OnlyProvider    string // provider, variable, model
	SeveralToAsk    string // models
	NoUsualModel    string // provider
	CloudMissing    string // provider, program, path
	OllamaFound     string // address, model
	ModelsUsage     string
	ModelsReached   string
	ModelsNoKey     string // variables
	ModelsThrough   string // program
	ModelsNot       string // error
	ModelsMore      string // number, provider
	ModelsMissing   string
	ModelsEnd       string    // date
	ModelsAsked     string    // model
	ModelsNobody    string    // when nobody is asked
	ModelUnknown    string    // a number of tokens
	ModelNoPrice    string    //
	ModelNotServed  string    // its provider does not list it
	ModelAbilities  [2]string // images, reasoning
	ModelIs         string    // name, window and reply, price, abilities
	ModelChange     string
	FallsBack       string // model, error
	DoctorNoKey     string
	DoctorNoSandbox string
	DoctorRead      string
	DoctorUntrusted string
	DoctorPicked    string // backend, what was asked for
	DoctorWorks     string
	DoctorFails     string // backend, why
	DoctorWeaker    string // what is weaker
	DoctorMend      string // what can be done
	DoctorWell      string
	DoctorLacks     string // what is missing

	// Trust.
	TrustTitle   string // folder
	TrustReason  string
	TrustChanged string
	TrustKinds   [8]string // of findings, as package policy numbers them

	// Agents that others start.
	AgentsDefined string // lines follow
	AgentsNone    string
	AgentsOfThis  string // lines follow

	// The conversation.
	Welcome      string // version, model, folder
	WelcomeHint  string
	Help         string // what /help prints
	NoDiff       string
	NoJobs       string
	JobRuns      string // id, for how long, command, file
	JobEnded     string // id, command, how
	TodoNone     string
	TodoHead     string // items that are done, items
	MemoryOff    string
	MemoryNone   string
	MemoryIn     string // folder
	MemoryNot    string // name
	MemoryWhich  string
	MemoryGone   string // name
	UnknownSlash string // command
	SlashAlone   string // command
	Cleared      string
	Background   plural // of commands
	NoCost       string
	Shortened    string // tokens before, tokens after
	SummedUp     string // the same, where that made it no shorter

	NothingShorter string
	WindowUsed     string // tokens in it, tokens of it, percent
	WindowUnknown  string // tokens in it
	WindowAbout    string // tokens
	WindowParts    [10]string
	WindowFree     string
	WindowLimit    string // tokens
	WindowRefused  string
	BillSubtasks   string
	BillTurn       string // number

	// Sessions.
	LogTrouble    string // error
	LogKept       string
	LogDamaged    string // session, the damage
	LogTorn       string // session
	LogLost       string // how many entries, file, error
	NothingKept   string
	NoSession     string // error
	NoSuchSession string // what was given
	NotSaid       string // nothing was said in the conversation
	RenameHow     string
	OwnHow        string
	NoSessionHere string // folder
	SessionInUse  string // session
	SessionBusy   string // session
	Resumed       string // title, turns
	ResumeHint    string // session
	SessionsUsage string

	// Worktrees.
	TreeUsage        string
	TreeUntrusted    string // folder
	TreeNoRepository string
	TreeNoCommit     string
	TreeBare         string
	TreeNone         string // name
	TreeUsed         string // name
	TreeBranch       string // branch, folder
	TreeName         string // what is wrong with it
	TreeHalf         string // names
	TreeGone         string // name
	TreeKept         string // folder, what would be lost, name
	TreeStays        string // folder, error
	TreeLoss         string // name, what would be lost
	TreeRemoved      string // name
	TreeDiscarded    string // name, branch, commit
	TreeEmpty        string // main checkout
	TreeClean        string
	TreeInUse        string
	TreeAnd          string // between parts of a list
	TreeHint         string
	TreeSession      string // session, name, main checkout
	TreeChanges      plural // of files
	TreeAhead        plural // of commits
	TreeUnseen       plural // of files
	TreeSubmodules   plural
	TreeDoing        string // merge, rebase, …
	TreeBroken       string // why

	ShellUsage     string
	ForkUsage      string
	ReplayUsage    string
	ReplayHelp     string    // the whole screen
	ReplaySame     string    // session, turns, the numbers of replies and calls
	ReplayStreams  string    // number of requests
	ReplayDiffers  string    // session, the difference
	ReplayAt       string    // turn, entry
	ReplayAtEnd    string    // turn
	ReplayCame     string    // where, what the log has, what came
	ReplayNothing  string    // session
	ReplayAsks     string    // the model
	ReplayTable    [9]string // was, is; model, turns, replies, calls, cost, end, answer
	ReplayNotRun   string    // calls, how many of them were not run
	ReplayBoxed    string
	ReplayForeign  string // session
	ReplayWhy      string
	ReplayYes      string    // session
	ReplayNow      string    // folder
	ReplayThen     string    // folder, files brought back, files that could not be
	ReplayCall     string    // turn, tool, input
	ReplayOthers   string    // session, answers that are others, calls
	ReplayFolder   string    // what was given
	ReplayNoLog    string    // what was given
	ReplayNoFile   string    // what was given
	ReplayNotLive  string    // tools
	ReplayLeftOut  string    // what and why
	SessionLabels  [5]string // folder, model, file, forked from, damage
	SessionTurns   plural
	SessionRemoved string // session
	AnyFolder      string
	NoTurn         string // what was typed, the number of turns
	PickSession    string
	Forked         string // session
	ChapterTitles  [len(Chapters)]string
	ChapterNotes   [len(Chapters)]string
	ChapterNext    string // chapter
	SeriesOther    string // session, what it is held to
	SeriesNone     string
	OtherSeries    string // session, what it is held to
	OtherFolder    string // session, its folder
	Renamed        string // name

	// Going back.
	RewindNone     string
	NoChoice       string // what was typed
	RewindPick     string
	RewindTitle    string    // the prompt
	RewindActs     [3]string // brought back, made again, removed; number, files
	RewindYours    string    // number, files
	RewindLost     string    // files, reason
	RewindLostAll  string    // reason
	RewindLeft     string    // number, files
	RewindMore     string    // files, number of further ones
	RewindNothing  string
	RewindOff      string    // error
	RewindChoices  [3]string // conversation and files, conversation, files
	RewindMine     string    // number, files
	RewindMineKeep string
	RewindMineTake string
	RewindTalk     string     // the prompt
	RewindDone     plural     // of files
	RewindFailed   string     // file, reason
	RewindKept     string     // folder
	Losses         [18]string // reasons why a file does not come back, as package workspace has them

	HooksWait     string
	HooksLeft     string
	Interrupting  string
	Interrupted   string
	WaitsModel    string // time
	WaitsReply    string // time
	WaitsCall     string // time
	WaitsCalls    string // number of calls, time
	LeaveAgain    string
	LeaveLater    string
	MoreLines     plural
	MoreHits      plural
	WebSearch     string // query
	SearchFailed  string // code
	MoreChars     plural
	MoreBytes     plural
	PromptKept    string
	HistoryFailed string // file, error

	// What the person typed and nobody has taken yet.
	Queued       string // number, how the line begins
	Next         string // how the line begins, which is for after the turn
	QueueEmpty   string
	QueueHint    string
	QueueDropped string // how the line begins
	QueueGone    string // number
	QueueHeld    plural
	QueueOffered string // the lines follow
	QueueLeft    string // the lines follow
	QueueLost    string // the lines follow
	QueueTask    string // the lines

	// Skills and commands.
	SkillUsed       string // its file
	SkillTaken      string
	SkillModel      string
	SkillUser       string
	SkillNew        string
	SkillsNone      string
	SkillsUntrusted string

	// Files that a prompt names by @.
	Attached      string // names
	AttachNot     string // name, reason
	AttachMissing string
	AttachOutside string
	AttachNoFile  string
	AttachLink    string
	AttachDenied  string
	AttachMuch    string
	AttachMore    plural // of files

	// What is in force.
	CommandsIn    string // what confines commands
	CommandsWeak  string // what that does not do
	ModeIs        string // mode, what it means
	Modes         [5]string
	ModeFrom      string // where it is from
	ModeStands    string // mode
	ModesHead     string
	ModesKey      string
	ModeNone      string // what was typed
	ModeJobs      string
	PlanNone      string // plan without a sandbox
	BypassNone    string // bypassPermissions without a sandbox
	BypassSandbox string // and in one
	AlsoIn        string // folders
	RulesNone     string
	RulesHead     string
	RulesOther    string
	RulesElse     string // in a sandbox
	RulesElseNone string // without
	RulesChange   string // files of settings: the user's, the folder's
	SandboxWrite  string // folders
	SandboxHidden string // number
	SandboxHosts  string // rules
	SandboxNoNet  string
	SandboxFailed string    // backend, why
	SandboxChange string    // file of settings
	SandboxLimits string    // limits
	SandboxLimit  [4]string // what the limit is: processes, memory, file, disk
	LimitNone     string

	// Questions.
	AskYes     string
	AskNo      string
	TrustYes   string // in place of AskYes when a folder is trusted
	TrustNo    string
	AskTitles  [6]string // of questions that the program asks, as it calls them in English
	AskTool    string    // tool
	AskAgent   string    // path of the agent
	AskIn      string    // what confines it
	Isolations [8]string // in the order of isolations
	Comma      string    // between them
	AskAlways  string    // rule, file
	AskSession string    // rule
	PlanYes    string    // in place of AskYes and AskNo when a plan is shown
	PlanNo     string
	LimitYes   string // the same where a limit is reached
	LimitNo    string
	AskAgain   string
	AskAgainA  string
	AskReason  string // reason
	AskGone    string
	AskOver    string
	AskHidden  plural // of the bytes left out
	EditOf     string // number, of
	EditAll    string
	WriteLines plural // of a file
	WordsYes   string // what counts as an answer, separated by spaces
	WordsNo    string
	WordsAll   string
	AnswerYes  string
	AnswerNo   string
	AnswerAll  string // rule

	// Choices.
	ChoiceOne   string
	ChoiceMany  string
	ChoiceFree  string
	ChoiceAgain string // the highest number
	ChoiceBlank string
	ChoiceSaid  string // what was chosen or said
	ChoiceLeft  string

	// Events.
	Thinking    string
	Discarded   string    // reason
	Retrying    string    // error, wait, try that comes, tries in all
	DeniedCall  string    // tool, reason
	DeniedRule  string    // rule
	DeniedAlone string    // rule
	LimitHit    string    // what, used, limit
	LimitNames  [5]string // in the order of limitNames
	ChildCalls  plural    // of a child so far
	ChildBegins string    // agent, first line of the prompt
	ChildDone   string    // agent
	ChildFailed string    // agent, error
	CostLine    string    // input tokens, output tokens, requests
	CostCached  string    // input tokens, tokens of them read from the cache, output tokens, requests
	CostCount   plural    // of requests
	CostTurn    string    // cost of the turn, cost since the program began
	CostSoFar   string    // what the lines above say, cost
	CostUnknown string

	// The demo.
	DemoIntro    string
	DemoStep     string // number, of, title
	DemoEnter    string
	DemoPrompt   string // prompt
	DemoTitles   [8]string
	DemoNotes    [8]string
	DemoNext     string
	DemoLoop     string
	DemoFailed   string // error
	DemoRequests string // number of requests, number of commands
}

// Messages returns the table for lang, "en" or "zh"; English for a language there
// is no table for.
func Messages(lang string) *Text {
	if lang == "zh" {
		return &chinese
	}
	return &english
}

// plural is a format for one of something and one for another number of them.
type plural [2]string

// Turns is a number of turns.
func (x *Text) Turns(n int) string { return x.SessionTurns.of(n) }

// Held says how many lines wait for the next prompt.
func (x *Text) Held(n int) string { return x.QueueHeld.of(n) }

// NotAttached says that so many further files are not attached.
func (x *Text) NotAttached(n int) string { return x.AttachMore.of(n) }

// Changes says that so many files are changed or new.
func (x *Text) Changes(n int) string { return x.TreeChanges.of(n) }

// Ahead says that so many commits are nowhere else.
func (x *Text) Ahead(n int) string { return x.TreeAhead.of(n) }

// Unseen says that git was told not to look at so many files.
func (x *Text) Unseen(n int) string { return x.TreeUnseen.of(n) }

// Submodules says that so many are not empty.
func (x *Text) Submodules(n int) string { return x.TreeSubmodules.of(n) }

// InBackground says how many commands run in the background.
func (x *Text) InBackground(n int) string { return x.Background.of(n) }

func (p plural) of(n int) string {
	if n == 1 {
		return fmt.Sprintf(p[0], n)
	}
	return fmt.Sprintf(p[1], n)
}

// limitNames are the limits as events name them.
var limitNames = [5]string{"turns", "tokens", "cost", "time", "repetition"}

func (x *Text) limitName(what string) string {
	if i := slices.Index(limitNames[:], what); i >= 0 {
		return x.LimitNames[i]
	}
	return what
}

// Cost is the line that says what was used so far.
func (x *Text) Cost(s oneloop.Spend) string {
	if s.Requests == 0 && s.TotalUsage.Total() == 0 {
		return x.NoCost
	}
	return fmt.Sprintf(x.CostSoFar, x.used(s), x.price(s))
}

// turnCost is the line below a turn: what was used in it, and what the session
// costs by now where that is more.
func (x *Text) turnCost(turn, session oneloop.Spend) string {
	cost := x.price(turn)
	if session.Requests > turn.Requests {
		cost = fmt.Sprintf(x.CostTurn, cost, x.price(session))
	}
	return x.used(turn) + " · " + cost
}

// Boundary says what commands run in, and a line below what that lacks here.
func (x *Text) Boundary(b oneloop.Boundary) string {
	text := fmt.Sprintf(x.CommandsIn, x.isolation(b.In))
	if len(b.Weaker) > 0 {
		weaker := make([]string, len(b.Weaker))
		for i, w := range b.Weaker {
			weaker[i] = x.Weakness(w)
		}
		text += "\n  " + fmt.Sprintf(x.CommandsWeak, strings.Join(weaker, "; "))
	}
	return text
}

// compacted says that a conversation was made shorter.
func (x *Text) compacted(e oneloop.Compacted) string {
	if e.After >= e.Before {
		return fmt.Sprintf(x.SummedUp, count(e.Before), count(e.After))
	}
	return fmt.Sprintf(x.Shortened, count(e.Before), count(e.After))
}

func (x *Text) used(s oneloop.Spend) string {
	u := s.TotalUsage
	in, out, requests := count(u.Input+u.CacheRead+u.CacheWrite), count(u.Output), x.CostCount.of(s.Requests)
	if u.CacheRead > 0 {
		return fmt.Sprintf(x.CostCached, in, count(u.CacheRead), out, requests)
	}
	return fmt.Sprintf(x.CostLine, in, out, requests)
}

func (x *Text) price(s oneloop.Spend) string {
	if !s.TotalKnown {
		return x.CostUnknown
	}
	return Money(s.TotalCost)
}

// Money writes US dollars with at least two significant digits.
func Money(usd float64) string {
	switch {
	case usd >= 1:
		return fmt.Sprintf("$%.2f", usd)
	case usd >= 0.01:
		return fmt.Sprintf("$%.3f", usd)
	}
	return fmt.Sprintf("$%.4f", usd)
}

// count writes n with a comma between groups of three digits.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// span writes a duration as precisely as a person cares for.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
