package browser

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/cli"
	"tare/internal/result"
)

// recorded copies a run of testdata, real and finished, into a directory.
func recorded(t *testing.T, name, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "runs", name))); err != nil {
		t.Fatal(err)
	}
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
