package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"oneloop"
	"oneloop/session"
	"oneloop/workspace"
)

// shownPrompts is how many prompts the user chooses from.
const shownPrompts = 20

// rewind goes back to before a prompt: the conversation, the files, or both.
func (c *conversation) rewind(ctx context.Context) {
	if err := c.rewindTo(ctx); err != nil {
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
	}
}

func (c *conversation) rewindTo(ctx context.Context) error {
	c.sayJobs()
	log := c.agent.log.Load()
	to, ok, err := c.pickPrompt(ctx, log.Prompts())
	if err != nil || !ok {
		return err
	}
	snaps, plan := c.planned(ctx, to)
	talk, files, err := c.pickWhat(ctx, to, plan)
	if err != nil {
		return err
	}
	var done workspace.Rewound
	if files {
		if done, err = c.bringBack(ctx, snaps, plan); err != nil {
			return err
		}
	}
	if talk {
		if err := log.Rewind(to.N - 1); err != nil {
			return err
		}
		c.agent.recall()
		c.trace.clear()
		c.front.Say(fmt.Sprintf(c.words.RewindTalk, session.Title(to.Text)))
	}
	c.tellModel(talk, files, plan, done)
	return nil
}

// pickPrompt has the user say where to go back to.
func (c *conversation) pickPrompt(ctx context.Context, prompts []session.Prompt) (to session.Prompt, ok bool, err error) {
	if len(prompts) == 0 {
		c.front.Say(c.words.RewindNone)
		return to, false, nil
	}
	q := oneloop.Question{Kind: "choice", Title: c.words.RewindPick}
	slices.Reverse(prompts)
	prompts = prompts[:min(len(prompts), shownPrompts)]
	for _, p := range prompts {
		q.Choices = append(q.Choices, oneloop.Choice{Label: fmt.Sprintf("%s  %s", p.Time.Local().Format("01-02 15:04:05"), session.Title(p.Text))})
	}
	i, err := c.pick(ctx, q)
	if err != nil || i < 0 {
		return to, false, err
	}
	return prompts[i], true, nil
}

// pick puts a question and gives the number of the choice; -1 is none.
func (c *conversation) pick(ctx context.Context, q oneloop.Question) (int, error) {
	a, err := c.front.Ask(ctx, q)
	if err != nil {
		return -1, err
	}
	i := slices.IndexFunc(q.Choices, func(o oneloop.Choice) bool { return slices.Contains(a.Chosen, o.Label) })
	if text := strings.TrimSpace(a.Text); i < 0 && text != "" { // perhaps it was for the model
		c.front.Say(fmt.Sprintf(c.words.NoChoice, text))
	}
	return i, nil
}

// planned is what going back would do to files; nil when they cannot.
func (c *conversation) planned(ctx context.Context, to session.Prompt) (*workspace.Snapshots, *workspace.Plan) {
	snaps := c.agent.shots.get()
	if snaps == nil {
		c.front.Say(fmt.Sprintf(c.words.RewindOff, c.words.NothingKept))
		return nil, nil
	}
	turn, end := c.front.Turn(ctx) // it can be stopped
	defer end()
	plan, err := snaps.Plan(turn, to.N)
	if err != nil {
		c.front.Say(fmt.Sprintf(c.words.RewindOff, err))
		return nil, nil
	}
	return snaps, plan
}

// pickWhat has the user say what goes back, once they have seen what that
// means.
func (c *conversation) pickWhat(ctx context.Context, to session.Prompt, plan *workspace.Plan) (talk, files bool, err error) {
	q := oneloop.Question{Kind: "choice", Title: fmt.Sprintf(c.words.RewindTitle, session.Title(to.Text))}
	what := [][2]bool{{true, true}, {true, false}, {false, true}}
	if plan != nil {
		q.Detail = c.planText(plan)
	}
	if plan == nil || len(plan.Changes) == 0 {
		what = what[1:2]
	}
	for _, w := range what {
		label := c.words.RewindChoices[0]
		if !w[1] {
			label = c.words.RewindChoices[1]
		} else if !w[0] {
			label = c.words.RewindChoices[2]
		}
		q.Choices = append(q.Choices, oneloop.Choice{Label: label})
	}
	i, err := c.pick(ctx, q)
	if err != nil || i < 0 {
		return false, false, err
	}
	return what[i][0], what[i][1], nil
}

// planText is a plan for people. What does not come back is said in full.
func (c *conversation) planText(plan *workspace.Plan) string {
	x := c.words
	var lines, yours []string
	acts := map[string][]string{}
	for _, f := range plan.Changes {
		if f.Yours {
			yours = append(yours, f.Path)
		} else {
			acts[f.Act] = append(acts[f.Act], f.Path)
		}
	}
	for i, act := range []string{workspace.ActRestore, workspace.ActMake, workspace.ActRemove} {
		if names := acts[act]; len(names) > 0 {
			lines = append(lines, fmt.Sprintf(x.RewindActs[i], len(names), x.Names(names)))
		}
	}
	if len(yours) > 0 {
		lines = append(lines, fmt.Sprintf(x.RewindYours, len(yours), x.Names(yours)))
	}
	if len(plan.Changes) == 0 {
		lines = append(lines, x.RewindNothing)
	}
	for _, l := range plan.Lost {
		if l.Path == "" {
			lines = append(lines, fmt.Sprintf(x.RewindLostAll, x.Loss(l.Why)))
		} else {
			lines = append(lines, fmt.Sprintf(x.RewindLost, x.Names([]string{l.Path}), x.Loss(l.Why)))
		}
	}
	if len(plan.Left) > 0 {
		lines = append(lines, fmt.Sprintf(x.RewindLeft, len(plan.Left), x.Names(plan.Left)))
	}
	return strings.Join(lines, "\n")
}

// bringBack brings files back, those that somebody else has changed too only
// when the user says so.
func (c *conversation) bringBack(ctx context.Context, snaps *workspace.Snapshots, plan *workspace.Plan) (done workspace.Rewound, err error) {
	var yours []string
	for _, f := range plan.Changes {
		if f.Yours {
			yours = append(yours, f.Path)
		}
	}
	take := 0
	if len(yours) > 0 {
		take, err = c.pick(ctx, oneloop.Question{
			Kind: "choice", Title: fmt.Sprintf(c.words.RewindMine, len(yours), c.words.Names(yours)),
			Choices: []oneloop.Choice{{Label: c.words.RewindMineKeep}, {Label: c.words.RewindMineTake}},
		})
		if err != nil {
			return done, err
		}
	}
	turn, end := c.front.Turn(ctx)
	defer end()
	done, err = snaps.Apply(turn, plan, func(f workspace.FileChange) bool { return !f.Yours || take == 1 })
	c.front.Say(c.words.Restored(len(done.Done)))
	for _, l := range done.Failed {
		c.front.Say(fmt.Sprintf(c.words.RewindFailed, c.words.Names([]string{l.Path}), c.words.Loss(l.Why)))
	}
	if done.Kept != "" {
		c.front.Say(fmt.Sprintf(c.words.RewindKept, done.Kept))
	}
	return done, err
}

// tellModel has the model know, with the next prompt, of files that are not as
// the conversation has them.
func (c *conversation) tellModel(talk, files bool, plan *workspace.Plan, done workspace.Rewound) {
	if plan == nil || !talk && !files {
		return
	}
	var text string
	var names []string
	switch {
	case !talk:
		text = "The user has taken these files back to what they were before your changes. Read them again before you rely on them:"
		names = pathsOf(done.Done)
	case files:
		text = "The user has taken the conversation back to before a prompt, and files with it. These were changed in what was taken back and are not as they were:"
		names = append(others(plan.Changes, done.Done), lost(plan)...)
	default:
		text = "The user has taken the conversation back to before a prompt. These files were changed in what was taken back and are as they became then:"
		names = append(pathsOf(plan.Changes), lost(plan)...)
	}
	if len(names) == 0 {
		return
	}
	if len(names) > toldFiles {
		names = append(names[:toldFiles], fmt.Sprintf("and %d more", len(names)-toldFiles))
	}
	c.agent.Session.Inbox.Put(session.WithNext, &oneloop.Text{Text: text + "\n" + strings.Join(names, "\n")})
}

// toldFiles is how many files the model is told of by name.
const toldFiles = 50

// lost are the files that a plan does not bring back.
func lost(plan *workspace.Plan) (paths []string) {
	for _, l := range plan.Lost {
		if l.Path != "" {
			paths = append(paths, l.Path)
		}
	}
	return paths
}

// others are the files of a plan that were not brought back.
func others(all, done []workspace.FileChange) (paths []string) {
	back := pathsOf(done)
	for _, f := range all {
		if !slices.Contains(back, f.Path) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

func pathsOf(list []workspace.FileChange) (paths []string) {
	for _, f := range list {
		paths = append(paths, f.Path)
	}
	return paths
}
