package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"os"
)

// cloudOfTheTests answers requests on its standard input with what the scripted
// server at SERVER says.
func cloudOfTheTests() {
	server, err := url.Parse(os.Getenv("SERVER"))
	if err != nil {
		panic(err)
	}
	for in := bufio.NewReader(os.Stdin); ; {
		req, err := http.ReadRequest(in)
		if err != nil {
			return // the end of the input
		}
		req.RequestURI, req.URL.Scheme, req.URL.Host = "", server.Scheme, server.Host
		req.Header.Set("X-Service", os.Args[1])
		req.Header.Set("X-Pid", fmt.Sprint(os.Getpid()))
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			panic(err)
		}
		if err := resp.Write(os.Stdout); err != nil {
			return
		}
		resp.Body.Close()
	}
}
