package studyfile_test

import (
	"os"
	"testing"

	"tare/internal/cli"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// The committed schema is the one that the program's own registries give.
func TestSchema(t *testing.T) {
	const path = "../../../docs/study.schema.json"
	want := must.Get(makeSchema(cli.New(result.Build{}).Catalog()))(t)
	if *update {
		must.Do(t, os.WriteFile(path, want, 0o644))
	}
	got := must.Get(os.ReadFile(path))(t)
	must.EqualFor(t, path+" is not up to date; run make schema (-want +committed)", string(want), string(got))
}
