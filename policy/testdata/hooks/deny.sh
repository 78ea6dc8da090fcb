#!/usr/bin/env bash
# Answers in JSON: no call may read the production settings.
if grep -q 'production'; then
	printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"production settings are off limits"}}'
fi
