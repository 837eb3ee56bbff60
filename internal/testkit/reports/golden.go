package reports

import (
	"flag"
	"path/filepath"
	"testing"

	"tare/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files")

func Golden[T ~string | ~[]byte](t *testing.T, name string, got T) {
	t.Helper()
	must.File(t, filepath.Join("testdata", name), got, *update)
}
