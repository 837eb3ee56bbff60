package browser

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/cli"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// recorded copies a run of testdata, real and finished, into a directory.
func recorded(t *testing.T, name, dir string) {
	t.Helper()
	must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "runs", name))))
}

// addClaims gives a recorded run two published claims: one about a ratio, one about a curve.
func addClaims(t *testing.T, dir string) {
	t.Helper()
	d := must.Get(store.OpenAppend(dir))(t)
	run := must.Get(d.Evaluated())(t)
	published, found := 0.99, 0.81
	run.Claims = []result.Claim{
		{ID: "same", Claim: "Ports cost TCP nothing", Source: "somebody and others, 2016", Published: "0.99", PublishedValue: &published, Outcome: result.ClaimDoesNotHold, Reason: "the ratio is not 1 within the margin of 5 %",
			Value: &found, CI: &result.Interval{0.78, 0.84}, Differs: []string{"another kernel"}},
		{ID: "curve", Claim: "Raw hosts lose nothing to 700 Mbit/s, then steeply more", Unit: "ratio", Outcome: result.ClaimCannotTell, Reason: "it is not shown", Points: []result.ClaimPoint{
			{Label: "700 Mbit/s", Value: new(float64), Outcome: result.ClaimHolds}, {Label: "896 Mbit/s", Outcome: result.ClaimCannotTell}}},
	}
	must.Do(t, errors.Join(d.WriteRun(run), d.Close()))
}

// tare runs the program in this process and gives what it printed.
func tare(t *testing.T, args ...string) string {
	t.Helper()
	var out, told bytes.Buffer
	app := cli.New(result.Build{Version: "test"})
	app.Stdout, app.Stderr = &out, &told
	if code := app.Main(context.Background(), args); code != 0 {
		t.Fatalf("tare %q ended with %d:\n%s", args, code, told.String())
	}
	return out.String()
}

// rendered is the address of the report of a run, made now.
func rendered(t *testing.T, dir string) string {
	t.Helper()
	tare(t, "report", dir)
	return address(filepath.Join(dir, "report.html"))
}

// address is the address of a file.
func address(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
