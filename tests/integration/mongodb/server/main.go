// SPDX-License-Identifier: Apache-2.0

// FerretDB with its SQLite backend, for the tests of the MongoDB store: one TCP listener, data in a folder that the test throws away.
//
// Usage: ferretdb ADDRESS:PORT DIRECTORY     prints its URI when it serves; ends with its standard input, or by a signal
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: ferretdb ADDRESS:PORT DIRECTORY")
		os.Exit(2)
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: os.Args[1]},
		Handler:   "sqlite",
		SQLiteURL: "file:" + os.Args[2] + "/",
		Logger:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() { // a test that was killed leaves no server behind
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	go func() { fmt.Println(server.MongoDBURI()) }() // returns once Run listens
	if err := server.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
