package winetest_test

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/testkit/winetest"
)

// packages have files of their own for Windows, or depend on such. run selects tests; the others read
// files of Linux, or need what Windows or Wine lacks: a process group that can be killed, a write that is
// cut in the middle, and UDP by package net.
var packages = []struct{ dir, run string }{
	{"process", "TestEndsWithStdin|TestTied|TestOutput|TestUntil|TestNotThere|TestTail"},
	{"traffic/clock", ""},
	{"traffic/thread", ""},
	{"traffic/socket", ""},
	{"observe/netstack", "Windows|TestSince"},
	{"observe", "Processor|Windows|CPUTime"},
	{"facts", "^(TestSystem|TestWindows|TestMac)$"},
	{"agent", "TestTrial|TestOneEndpointFails|TestLinks|TestRead|TestCPU|TestEndsWithStdin|TestHandshake"},
	{"traffic/secure", "TestPinned|TestCertificate|TestClose|FuzzStrangers"},
	{"traffic/web", "TestHTTPTLSConformance|TestHTTPTLSCancelled"},
	{"traffic/tcp", "TestConformance/tcp_(rr|stream)/(one_flow|1_streams_both/|pinned).*"},
}

// The unit tests of these packages pass in their Windows build.
func TestPackages(t *testing.T) {
	winetest.Need(t)
	ns := namespace(t, "packages")
	must.Do(t, ns.Links().Up("lo"))
	prefix := winetest.New(t, ns.Start)
	var all []string
	for _, p := range packages {
		all = append(all, "./internal/"+p.dir)
	}
	programs := winetest.Tests(t, all...)
	for _, p := range packages {
		t.Run(p.dir, func(t *testing.T) {
			run := prefix.Process(filepath.Join(programs, path.Base(p.dir)+".test.exe"), "-test.run="+p.run, "-test.timeout=100s", "-test.v")
			run.Cmd.Dir = filepath.Join("..", "..", filepath.FromSlash(p.dir))
			// A file, because programs that a test leaves would keep a pipe open.
			out := must.Get(os.Create(filepath.Join(t.TempDir(), "output")))(t)
			defer out.Close()
			run.Cmd.Stdout, run.Cmd.Stderr = out, out
			must.Do(t, prefix.Start(run))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			must.Do(t, run.Wait(ctx))
			must.Do(t, run.Kill())
			text, err := os.ReadFile(out.Name())
			if n := bytes.Count(text, []byte("--- PASS")); err != nil || run.State() != "exit status 0" || n == 0 {
				t.Errorf("%d tests passed, then %s, %v\n%s", n, run.State(), err, text)
			}
		})
	}
}
