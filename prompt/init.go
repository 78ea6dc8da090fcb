package prompt

// Init is the task of writing the instructions of a folder.
const Init = `Write AGENTS.md for this folder: what an agent that sees it for the first time must know to work here.
Look before you write: README, build files, settings of tools, CI, tests, and what instructs agents already (AGENTS.md, CLAUDE.md, .cursor/rules and the like).
It says how to build, to test (all, and a single test) and to check, with commands that you ran or found in use; where things are, as far as names do not tell; rules of this code base, and traps. Leave out what holds for any project, what a look at the files tells at once, and every secret. Stay under 60 lines, in the language of the README.
If there is an AGENTS.md, mend it and keep what is right. At the end say what you could not check.`
