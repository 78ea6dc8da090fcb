#!/usr/bin/env bash
# Puts "nice" before a build, so that the machine stays usable.
read -r call
command=$(sed -n 's/.*"tool_input":{"command":"\(make[^"]*\)".*/\1/p' <<<"$call")
if [ -n "$command" ]; then
	printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"nice %s"},"additionalContext":"builds run with low priority"}}\n' "$command"
fi
