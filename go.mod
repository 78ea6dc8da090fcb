module oneloop

go 1.26
