module oneloop

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	golang.org/x/sys v0.50.0
)

require github.com/google/jsonschema-go v0.4.3

require (
	github.com/creack/pty v1.1.24
	github.com/rivo/uniseg v0.4.7
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/pflag v1.1.0
	golang.org/x/term v0.45.0
	mvdan.cc/sh/v3 v3.14.1
	pgregory.net/rapid v1.3.0
)

require golang.org/x/tools v0.38.0 // indirect
