package main

import (
	"context"
	"fmt"
	"io"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/intent"
)

// call is what a model wants done. It names no key: a model that is asked for one
// makes up another each time.
type call struct {
	tool string // empty: the model only speaks
	text string // the arguments, or what it says
}

// model is the part that a language model plays.
type model interface {
	next(heard []string) call
}

// agent is the runtime around a model.
type agent struct {
	w     *intentlog.Worker
	run   string // the ID of this run of the agent, kept over restarts
	model model
	step  int
	heard []string
	doubt map[string]string // tools with an unknown outcome, by the step that had it
	out   io.Writer
}

// tell adds to what the model hears next.
func (a *agent) tell(who, what string) {
	a.heard = append(a.heard, what)
	fmt.Fprintf(a.out, "%s: %s\n", who, what)
}

// loop lets the model take n steps.
func (a *agent) loop(ctx context.Context, n int) error {
	for range n {
		a.step++
		c := a.model.next(a.heard)
		if c.tool == "" {
			a.tell("model", c.text)
			continue
		}
		fmt.Fprintf(a.out, "model: calls %s(%s)\n", c.tool, c.text)
		result, err := a.do(ctx, c)
		if err != nil {
			return err
		}
		a.tell("tool", result)
	}
	return nil
}

// do performs one call. Its ID is made of the run and the step, so that a run that is
// resumed asks for the same action and not for another.
func (a *agent) do(ctx context.Context, c call) (string, error) {
	if c.tool == "calendar" {
		return "Ten o'clock is free.", nil // has no effect, and needs no intent
	}
	if step, ok := a.doubt[c.tool]; ok {
		return fmt.Sprintf("%s is blocked: it is still not known what became of %s. Nothing was done.", c.tool, step), nil
	}
	id := fmt.Sprintf("%s/step-%d", a.run, a.step)
	in := intent.POST("mail", "/"+c.tool, []byte(c.text)).WithAction(intent.ActionID(id))
	out, err := a.w.Do(ctx, intent.JobID(id), in)
	if err != nil {
		return "", err
	}
	return a.words(c.tool, out), nil
}

// words tells an outcome as a model can understand it.
func (a *agent) words(tool string, out intentlog.Outcome) string {
	switch out.Status {
	case intentlog.Confirmed, intentlog.Reconciled:
		delete(a.doubt, tool)
		return fmt.Sprintf("%s, %s: it was done, once.", tool, out.Action)
	case intentlog.Rejected:
		delete(a.doubt, tool)
		return fmt.Sprintf("%s, %s: it was refused and not done: %s.", tool, out.Action, out.Message)
	}
	a.doubt[tool] = string(out.Action)
	return fmt.Sprintf("%s, %s: it is not known whether it was done (%s). Do not do it again in other words; "+
		"you will be told.", tool, out.Action, out.Reason)
}

// recover asks again about what is in doubt, and tells the model what it learnt. A
// runtime does so at its start, and now and then.
func (a *agent) recover(ctx context.Context) error {
	report, err := a.w.Recover(ctx)
	if err != nil {
		return err
	}
	for tool, step := range a.doubt {
		for _, out := range report.Outcomes {
			if string(out.Action) == step {
				a.tell("tool", a.words(tool, out))
			}
		}
	}
	return nil
}
