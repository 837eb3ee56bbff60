package tare_test

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// recipe is the part of .goreleaser.yaml that these tests read.
type recipe struct {
	Builds []struct {
		Main, Binary                 string
		Env, Targets, Flags, Ldflags []string
	}
	Archives []struct {
		Files []struct{ Src, Dst string }
	}
	Packages []struct {
		Formats  []string
		Bindir   string
		Contents []struct{ Src, Dst, Type, Packager string }
	} `yaml:"nfpms"`
	Images []struct {
		Dockerfile string
		Platforms  []string
	} `yaml:"dockers_v2"`
}

func readRecipe(t *testing.T) recipe {
	t.Helper()
	text := must.Get(os.ReadFile(".goreleaser.yaml"))(t)
	var r recipe
	must.Do(t, yaml.Unmarshal(text, &r))
	must.Require(t, len(r.Builds) == 1 && len(r.Archives) == 1 && len(r.Packages) == 1 && len(r.Images) == 1,
		"%d builds, %d archives, %d packages, %d images; want 1 of each", len(r.Builds), len(r.Archives), len(r.Packages), len(r.Images))
	return r
}

// variable returns the value of a variable of the Makefile.
func variable(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile("Makefile"))(t)
	m := regexp.MustCompile(`(?m)^` + name + ` :?= (.*)$`).FindSubmatch(text)
	must.Require(t, m != nil, "the Makefile has no variable %s", name)
	return string(m[1])
}

// A release contains what `make build` builds, for all systems of the Makefile.
func TestReleaseBuildsAsTheMakefile(t *testing.T) {
	r := readRecipe(t)
	b := r.Builds[0]
	// goreleaser runs the same git commands.
	stamps := strings.NewReplacer("$(VERSION)", "{{ .Summary }}", "$(COMMIT)", "{{ .ShortCommit }}", "$(DATE)", "{{ .CommitDate }}")
	must.EqualFor(t, "ldflags", []string{stamps.Replace(variable(t, "LDFLAGS"))}, b.Ldflags)
	flags := strings.ReplaceAll(strings.Join(b.Flags, " "), variable(t, "TAGS"), "$(TAGS)")
	command := "go build " + flags + " -ldflags '$(LDFLAGS)'"
	must.EqualFor(t, "command", variable(t, "GOBUILD"), command)
	must.EqualFor(t, "environment", []string{"CGO_ENABLED=" + variable(t, "export CGO_ENABLED")}, b.Env)
	systems := strings.Fields(variable(t, "SYSTEMS"))
	slices.Sort(systems)
	slices.Sort(b.Targets)
	must.EqualFor(t, "systems", systems, strings.Split(strings.ReplaceAll(strings.Join(b.Targets, " "), "_", "/"), " "))
	for _, p := range r.Images[0].Platforms {
		must.True(t, slices.Contains(systems, p), "the image has the platform %s, which is not built", p)
	}
	must.Get(os.Stat(r.Images[0].Dockerfile))(t)
}

// stamp returns the version, commit and date of the test builds, as arguments of make.
func stamp() []string {
	return []string{"VERSION=v1.2.3", "COMMIT=0123456", "DATE=2026-11-20T12:00:00Z"}
}

// The same sources give the same program, byte for byte, in any directory, and packages
// contain what make install installs.
func TestReleaseMade(t *testing.T) {
	testneed.NotShort(t)
	made := t.TempDir() // in place of bin
	here := build(t, ".", filepath.Join(made, "tare"))
	if most := 42_000_000; len(here) > most { // as make size
		t.Errorf("tare has %d bytes: make size says what brings them", len(here))
	}
	t.Run("again", func(t *testing.T) {
		// The other directory is no checkout, like an archive of the sources.
		elsewhere := t.TempDir()
		for _, name := range []string{"Makefile", "go.mod", "go.sum"} {
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(filepath.Join(elsewhere, name), text, 0o600)
			}
			must.Do(t, err)
		}
		for _, dir := range []string{"cmd", "internal", "studies", "scripts/agents"} {
			must.Do(t, os.CopyFS(filepath.Join(elsewhere, dir), os.DirFS(dir)))
		}
		there := build(t, elsewhere, filepath.Join(elsewhere, "tare"))
		must.True(t, bytes.Equal(here, there), "two builds of the same sources differ: %d and %d bytes", len(here), len(there))
		if at, err := os.Getwd(); err != nil || bytes.Contains(here, []byte(at)) {
			t.Errorf("the program contains the path of its sources, %s (%v)", at, err)
		}
	})
	t.Run("installed", func(t *testing.T) { installed(t, made) })
	t.Run("listed", func(t *testing.T) { listed(t, filepath.Join(made, "tare")) })
}

// listed fails unless the SBOM names every module that is linked into the program.
func listed(t *testing.T, binary string) {
	list := filepath.Join(t.TempDir(), "tare.sbom.json")
	run(t, exec.Command("go", "run", "./scripts/sbom", binary, list, "2026-11-20T12:00:00Z"))
	data := must.Get(os.ReadFile(list))(t)
	var doc struct {
		SPDXVersion string
		Packages    []struct{ Name, VersionInfo, SPDXID string }
	}
	if err := json.Unmarshal(data, &doc); err != nil || doc.SPDXVersion != "SPDX-2.3" {
		t.Fatalf("%v, version %q", err, doc.SPDXVersion)
	}
	var got []string
	ids := map[string]bool{}
	for _, p := range doc.Packages {
		ids[p.SPDXID] = true
		got = append(got, p.Name+" "+p.VersionInfo)
	}
	must.Equal(t, len(got), len(ids))
	info, err := buildinfo.ReadFile(binary)
	must.Require(t, err == nil && len(info.Deps) >= 20, "%v: %v", err, info)
	for _, m := range info.Deps {
		must.True(t, slices.Contains(got, m.Path+" "+m.Version), "%s %s is linked into the program and is not in the SBOM", m.Path, m.Version)
	}
}

// build builds the program of a directory.
func build(t *testing.T, dir, binary string) []byte {
	t.Helper()
	makes(t, dir, "build", "BIN="+binary)
	want := "tare v1.2.3 (0123456)\n  date of the commit  2026-11-20T12:00:00Z\n"
	if out := run(t, exec.Command(binary, "version")); !strings.HasPrefix(out, want) {
		t.Errorf("the version is not the Makefile's:\n%s", out)
	}
	program := must.Get(os.ReadFile(binary))(t)
	return program
}

// installed checks that a package contains what `make install` installs, and that the files of a
// release exist.
func installed(t *testing.T, made string) {
	r := readRecipe(t)
	root := t.TempDir()
	args := []string{"BIN=" + filepath.Join(made, "tare"), "SHARE=" + filepath.Join(made, "share"), "DESTDIR=" + root, "PREFIX=/usr"}
	prefix := filepath.Join(root, "usr")
	makes(t, ".", append(args, "install")...)
	run(t, exec.Command(filepath.Join(prefix, "bin", "tare"), "version"))
	plugin := exec.Command(filepath.Join(prefix, "libexec/docker/cli-plugins/docker-tare"), "docker-cli-plugin-metadata")
	must.Contain(t, run(t, plugin), "SchemaVersion")
	installed := files(t, prefix)

	for _, format := range []string{"deb", "rpm"} {
		p := r.Packages[0]
		must.True(t, slices.Contains(p.Formats, format), "the release has no %s", format)
		packed := []string{strings.TrimPrefix(p.Bindir, "/usr/") + "/" + r.Builds[0].Binary}
		for _, c := range p.Contents {
			if c.Packager != "" && c.Packager != format {
				continue
			}
			to := strings.TrimPrefix(c.Dst, "/usr/")
			if c.Type == "symlink" {
				there := must.Get(os.Readlink(filepath.Join(prefix, to)))(t)
				must.EqualFor(t, fmt.Sprintf("the %s links %s", format, to), c.Src, there)
				packed = append(packed, to)
				continue
			}
			for _, file := range sourcesOf(t, made, c.Src) {
				if strings.HasSuffix(to, "/") {
					packed = append(packed, to+filepath.Base(file))
				} else {
					packed = append(packed, to)
				}
			}
		}
		for _, file := range installed {
			if format == "deb" { // Debian's zsh has a place for packages
				file = strings.Replace(file, "zsh/site-functions", "zsh/vendor-completions", 1)
			}
			must.True(t, slices.Contains(packed, file), "the %s lacks %s, which make install installs", format, file)
		}
	}
	for _, f := range r.Archives[0].Files {
		sourcesOf(t, made, f.Src)
	}
	makes(t, ".", append(args, "uninstall")...)
	if left := files(t, prefix); len(left) > 0 {
		t.Errorf("make uninstall leaves %v", left)
	}
}

// sourcesOf lists the files that match a pattern of the recipe, with made in place of bin.
func sourcesOf(t *testing.T, made, pattern string) []string {
	t.Helper()
	if pattern == "bin/licences.txt" {
		return []string{pattern} // by make licences, which needs every module's sources
	}
	if below, ok := strings.CutPrefix(pattern, "bin/"); ok {
		pattern = filepath.Join(made, below)
	}
	found, err := filepath.Glob(pattern)
	must.True(t, err == nil && len(found) != 0, "the release includes %s, which does not exist (%v)", pattern, err)
	return found
}

// makes runs make with the stamp, without the environment of an outer make.
func makes(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("make", append(args, stamp()...)...)
	c.Dir = dir
	c.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "MAKE") || strings.HasPrefix(s, "MFLAGS") })
	run(t, c)
}

func run(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return string(out)
}

// files lists the files below a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	must.Do(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, errRel := filepath.Rel(dir, path)
			out, err = append(out, rel), errRel
		}
		return err
	}))
	return out
}
