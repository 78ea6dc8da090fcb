package main

import (
	"fmt"
	"strconv"
	"strings"

	"oneloop/internal/config"
	"oneloop/workspace"
)

// limits are those of the settings for each command in the sandbox.
func (p *program) limits() workspace.SandboxLimits {
	l := p.settings.Limits
	return workspace.SandboxLimits{Processes: int(l.Processes), Memory: l.Memory, File: l.File, Disk: l.Disk}
}

// limited is what /sandbox shows of them.
func (c *conversation) limited() string {
	l := c.agent.box.Status().Limits
	var parts []string
	for i, n := range []int64{int64(l.Processes), l.Memory, l.File, l.Disk} {
		text := config.FormatSize(n)
		switch {
		case n <= 0:
			text = c.words.LimitNone
		case i == 0:
			text = strconv.FormatInt(n, 10)
		}
		parts = append(parts, fmt.Sprintf(c.words.SandboxLimit[i], text))
	}
	return fmt.Sprintf(c.words.SandboxLimits, strings.Join(parts, ", "))
}
