#!/usr/bin/env bash
# Keeps the main branch from being pushed to: exit code 2, the reason on stderr.
call=$(cat)
if grep -q 'git push.* main' <<<"$call"; then
	echo 'the main branch is pushed to by people only' >&2
	exit 2
fi
