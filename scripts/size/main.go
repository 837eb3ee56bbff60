// Command size prints how many lines each room of the sources has, how large tare and the agent in it are, and
// what each library brings:
//
//	go run ./scripts/size bin/tare
//
// `make size` runs it in the root of the sources, after a build. It fails if tare is larger than it may be. The symbols of a second build that
// has not been stripped are attributed to modules. Data that belongs to no symbol of a package,
// such as tables for stack traces, is divided among the modules by the size of their symbols.
package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// most is the size in bytes that tare may have. TestReleaseMade has the same limit.
const most = 42e6

// listed is the size in bytes from which a library has a row of its own.
const listed = 100e3

// The names of what no module brings.
const (
	standard = "Go: runtime and standard library"
	itself   = "tare itself, with its pages and schemas"
	embedded = "the agent's program, compressed"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "size: name the program that make built, such as bin/tare")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(binary string) error {
	file, err := os.Stat(binary)
	if err != nil {
		return err
	}
	rooms, err := lines()
	if err != nil {
		return err
	}
	fmt.Println(rooms)
	dir, err := os.MkdirTemp("", "tare-size-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	agent, packed, err := agentSizes(dir)
	if err != nil {
		return err
	}
	fmt.Printf("| what | MB |\n|---|---|\n| tare | %.1f |\n| the agent's program, in containers and in memory | %.1f |\n| the same in tare, compressed | %.1f |\n\n", mega(file.Size()), mega(agent), mega(packed))
	withSymbols := filepath.Join(dir, "tare")
	if err := build(withSymbols, "", "buildid,agentfile", "./cmd/tare"); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(withSymbols)
	if err != nil {
		return err
	}
	var modules []string
	for _, m := range info.Deps {
		modules = append(modules, m.Path)
	}
	program, err := elf.Open(withSymbols)
	if err != nil {
		return err
	}
	defer program.Close()
	symbols, err := program.Symbols()
	if err != nil {
		return fmt.Errorf("list the symbols of %s: %w", withSymbols, err)
	}
	sizes := attribute(symbols, program.Sections, info.Main.Path, modules)
	fmt.Print(table(shares(sizes, file.Size(), packed)))
	if file.Size() > most {
		return fmt.Errorf("tare has %.1f MB, more than %.0f: find a smaller library, or what keeps methods that nothing calls", mega(file.Size()), most/1e6)
	}
	return nil
}

// agentSizes returns the size of the agent's program and of the file that tare contains.
func agentSizes(dir string) (program, packed int64, err error) {
	path := filepath.Join(dir, "agent")
	if err := build(path, "-s -w", "buildid", "./cmd/tare-agent"); err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	inside, err := os.Stat(filepath.Join("internal/program/agentfile", "linux_"+runtime.GOARCH+".gz"))
	if errors.Is(err, os.ErrNotExist) {
		return info.Size(), 0, nil // tare itself is the agent here
	}
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), inside.Size(), nil
}

func build(to, flags, tags, what string) error {
	c := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", flags, "-o", to, what)
	c.Env, c.Stderr = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux"), os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("build %s: %w", what, err)
	}
	return nil
}

// prefix is what the linker puts before the name of a package: data of a type, or of a pair of type
// and interface.
var prefix = regexp.MustCompile(`^(type:\.eq\.|go:itab\.|type:)?\*?`)

// attribute adds up the sizes of symbols in the file by module: itself, standard for packages of Go,
// or one of modules. Symbols of no package are left out, and those that only take memory.
func attribute(symbols []elf.Symbol, sections []*elf.Section, main string, modules []string) map[string]int64 {
	out := map[string]int64{}
	for _, s := range symbols {
		if int(s.Section) >= len(sections) || s.Section == elf.SHN_UNDEF || sections[s.Section].Type == elf.SHT_NOBITS {
			continue
		}
		if name := packageOf(s.Name); name != "" {
			out[moduleOf(name, main, modules)] += int64(s.Size) //nolint:gosec // of a file
		}
	}
	return out
}

// packageOf returns the package of a symbol, "" if it has none: all up to the first dot after the
// last slash, without type arguments.
func packageOf(symbol string) string {
	name, _, _ := strings.Cut(prefix.ReplaceAllString(symbol, ""), "[")
	name, _, _ = strings.Cut(name, "(")
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot <= 0 || strings.ContainsAny(name, ":\"") {
		return ""
	}
	return strings.ReplaceAll(name[:slash+dot], "%2e", ".")
}

func moduleOf(name, main string, modules []string) string {
	in := func(module string) bool { return name == module || strings.HasPrefix(name, module+"/") }
	if in(main) || name == "main" {
		return itself
	}
	longest := ""
	for _, m := range modules {
		if in(m) && len(m) > len(longest) {
			longest = m
		}
	}
	return cmp.Or(longest, standard)
}

// share is what a part brings to the file, in bytes.
type share struct {
	name  string
	bytes int64
}

// shares divides the file, without the packed agent in it, by the sizes of symbols. The largest is
// the first. Small ones are one share at the end.
func shares(sizes map[string]int64, file, packed int64) []share {
	total := int64(0)
	for size := range maps.Values(sizes) {
		total += size
	}
	var out []share
	if packed > 0 {
		out = append(out, share{embedded, packed})
	}
	small, n := int64(0), 0
	for name, size := range sizes {
		part := int64(float64(file-packed) * float64(size) / float64(total))
		if part < listed && name != standard && name != itself {
			small, n = small+part, n+1
			continue
		}
		out = append(out, share{name, part})
	}
	slices.SortFunc(out, func(a, b share) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), strings.Compare(a.name, b.name)) })
	if n > 0 {
		out = append(out, share{fmt.Sprintf("%d smaller libraries", n), small})
	}
	return out
}

// table writes the shares. What needs no library comes first, so that the running total shows what
// libraries bring.
func table(all []share) string {
	own := func(s share) bool { return s.name == standard || s.name == itself || s.name == embedded }
	slices.SortStableFunc(all, func(a, b share) int {
		switch {
		case own(a) == own(b):
			return 0
		case own(a):
			return -1
		}
		return 1
	})
	var b strings.Builder
	fmt.Fprintf(&b, "| what brings it | about MB | together |\n|---|---|---|\n")
	sum := int64(0)
	for _, s := range all {
		sum += s.bytes
		fmt.Fprintf(&b, "| %s | %.1f | %.1f |\n", s.name, mega(s.bytes), mega(sum))
	}
	return b.String()
}

func mega(n int64) float64 { return float64(n) / 1e6 }
