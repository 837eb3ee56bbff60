package winetest_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/winetest"
)

// packages have files of their own for Windows, or depend on such. run selects tests; the others read
// files of Linux, or need what Windows or Wine lacks: a process group that can be killed, and UDP by
// package net.
var packages = []struct{ dir, run string }{
	{"process", "TestEndsWithStdin|TestTied|TestOutput|TestUntil|TestNotThere|TestTail"},
	{"traffic/clock", ""},
	{"traffic/thread", ""},
	{"traffic/socket", ""},
	{"observe/netstack", "Windows|TestSince"},
	{"observe", "Processor|Windows|CPUTime"},
	{"agent", "TestTrial|TestOneEndpointFails|TestLinks|TestRead|TestCPU|TestEndsWithStdin|TestHandshake"},
	{"traffic/tcp", "TestConformance/tcp_(rr|stream)/(one_flow|1_streams_(forward|both)|pinned|paced,_both).*"},
}

// The unit tests of these packages pass in their Windows build.
func TestPackages(t *testing.T) {
	winetest.Need(t)
	prefix := winetest.New(t, nil)
	for _, p := range packages {
		t.Run(p.dir, func(t *testing.T) {
			program := winetest.Tests(t, "./internal/"+p.dir)
			run := prefix.Process(program, "-test.run="+p.run, "-test.timeout=100s", "-test.v")
			run.Cmd.Dir = filepath.Join("..", filepath.FromSlash(p.dir))
			var out strings.Builder
			run.Cmd.Stdout = &out
			if err := prefix.Start(run); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			if err := run.Wait(ctx); err != nil {
				t.Error(err)
			}
			if err := run.Kill(); err != nil {
				t.Error(err)
			}
			if n := strings.Count(out.String(), "--- PASS"); run.State() != "exit status 0" || n == 0 {
				t.Errorf("%d tests passed, then %s: %s\n%s", n, run.State(), run.StderrTail(), out.String())
			}
		})
	}
}
