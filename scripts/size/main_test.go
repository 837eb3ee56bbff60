package main

import (
	"debug/elf"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
)

func TestPackageOf(t *testing.T) {
	for symbol, want := range map[string]string{
		"runtime.mallocgc":                                "runtime",
		"encoding/json.(*decodeState).object":             "encoding/json",
		"tare/internal/cli.App.versionCommand.func1":      "tare/internal/cli",
		"k8s.io/api/core/v1.(*Pod).DeepCopy":              "k8s.io/api/core/v1",
		"gopkg.in/yaml%2ev3.yaml_parser":                  "gopkg.in/yaml.v3",
		"slices.SortFunc[go.shape.[]tare/internal/lab.X]": "slices",
		"go:itab.*os.File,io.Writer":                      "os",
		"type:.eq.github.com/moby/moby/client.X":          "github.com/moby/moby/client",
		"type:*github.com/moby/moby/client.X":             "github.com/moby/moby/client",
		"go:func.*":                                       "",
		"go:string.\"a.b\"":                               "",
		"runtime/internal/x..inittask":                    "runtime/internal/x",
		"_cgo_init":                                       "",
	} {
		if got := packageOf(symbol); got != want {
			t.Errorf("%s is of %q, want %q", symbol, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	rooms := map[string]count{}
	for file, n := range map[string]int{
		"arch_test.go": 1, "cmd/tare/main.go": 2, "internal/traffic/params.go": 4, "internal/traffic/tcp/rr.go": 8, "internal/traffic/tcp/rr_test.go": 16,
		"internal/traffic/hostile/hostile.go": 32, "internal/testkit/must/must.go": 64, "internal/testkit/must/must_test.go": 128, "bench/main.go": 256,
	} {
		rooms[room(file)] = rooms[room(file)].add(file, n)
	}
	const want = `| lines of Go | that ship | of tests | of packages only for tests |
|---|---|---|---|
| . | 0 | 1 | 0 |
| bench | 0 | 0 | 256 |
| cmd | 2 | 0 | 0 |
| internal/testkit | 0 | 0 | 192 |
| internal/traffic | 12 | 16 | 32 |
| all | 14 | 17 | 480 |
`
	must.Equal(t, want, lineTable(rooms))
}

func TestTable(t *testing.T) {
	const code, memory, none = elf.SectionIndex(1), elf.SectionIndex(2), elf.SHN_UNDEF
	sections := []*elf.Section{{}, {SectionHeader: elf.SectionHeader{Type: elf.SHT_PROGBITS}}, {SectionHeader: elf.SectionHeader{Type: elf.SHT_NOBITS}}}
	var symbols []elf.Symbol
	for _, s := range []struct {
		name string
		size uint64
		in   elf.SectionIndex
	}{
		{"runtime.main", 3000, code}, {"tare/internal/cli.New", 2000, code}, {"main.main", 1000, code}, {"example.invalid/large/v2/sub.(*X).F", 4000, code},
		{"example.invalid/large.F", 400, code}, {"example.invalid/small.x", 50, code}, {"example.invalid/small.y", 9000, none},
		{"runtime.memory", 50000, memory}, {"runtime.absolute", 50000, elf.SHN_ABS}, {"go:func.*", 7000, code},
	} {
		symbols = append(symbols, elf.Symbol{Name: s.name, Size: s.size, Section: s.in})
	}
	sizes := attribute(symbols, sections, "tare", []string{"example.invalid/large", "example.invalid/large/v2", "example.invalid/small"})
	want := map[string]int64{standard: 3000, itself: 3000, "example.invalid/large/v2": 4000, "example.invalid/large": 400, "example.invalid/small": 50}
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	got := table(shares(sizes, 22_900_000, 2_000_000))
	const rows = `| what brings it | about MB | together |
|---|---|---|
| Go: runtime and standard library | 6.0 | 6.0 |
| tare itself, with its pages and schemas | 6.0 | 12.0 |
| the agent's program, compressed | 2.0 | 14.0 |
| example.invalid/large/v2 | 8.0 | 22.0 |
| example.invalid/large | 0.8 | 22.8 |
| example.invalid/small | 0.1 | 22.9 |
`
	must.Equal(t, rows, got)
	if small := shares(map[string]int64{standard: 1000, "a": 1, "b": 1}, 1_002_000, 0); len(small) != 2 || small[1].name != "2 smaller libraries" {
		t.Errorf("%v", small)
	}
}
