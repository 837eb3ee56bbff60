package vswitch

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/driver/daemon"
	"tare/internal/lab"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// Programs are the programs of an installed Open vSwitch.
type Programs struct {
	server, switchd string // ovsdb-server and ovs-vswitchd
	tool, vsctl     string // ovsdb-tool and ovs-vsctl
	ofctl           string // ovs-ofctl
	schema          string // schema file of the database
	version         string
}

// suite is what one project installs: the places of its programs and schemas by their names, and of a version.
type suite struct {
	install           string // how, as the end of an error
	share             string // the directory of the schemas
	programs, schemas map[string]*string
	version           *string
	says              string // the program that tells the version, after these words on its first line
	words             string
}

// find locates all of it. Its error says what is missing and how to install it.
func (s suite) find(ctx context.Context) error {
	err := s.locate()
	if err == nil {
		*s.version, err = versionOf(ctx, *s.programs[s.says], s.words)
	}
	if err != nil {
		return fmt.Errorf("%w; %s", err, s.install)
	}
	return nil
}

func (s suite) locate() (err error) {
	for _, name := range slices.Sorted(maps.Keys(s.programs)) {
		if *s.programs[name], err = daemon.Find(name); err != nil {
			return fmt.Errorf("%s is not installed: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.schemas)) {
		if *s.schemas[name], err = findSchema(s.share, name); err != nil {
			return err
		}
	}
	return nil
}

// findSchema locates a database's schema, where distributions and an installation from source put it.
func findSchema(of, name string) (string, error) {
	at := []string{filepath.Join("/usr/share", of, name), filepath.Join("/usr/local/share", of, name)}
	for _, file := range at {
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("the database schema %s is missing (looked at %s)", name, strings.Join(at, " and "))
}

// versionOf reads the version that a program writes after words on its first line.
func versionOf(ctx context.Context, program, words string) (string, error) {
	said, err := run(ctx, program, "--version")
	if err == nil {
		line, _, _ := strings.Cut(said, "\n")
		if version, ok := strings.CutPrefix(line, words); ok {
			return version, nil
		}
		err = fmt.Errorf("unexpected output %.80q", line)
	}
	return "", fmt.Errorf("read the version of %s: %w", program, err)
}

// String is the version, and the program that forwards.
func (p Programs) String() string { return p.version + " (" + p.switchd + ")" }

// Find locates Open vSwitch. Its error says what is missing and how to install it.
func (p *Programs) Find(ctx context.Context) error {
	return suite{
		install:  "install Open vSwitch (Debian: apt-get install openvswitch-switch); its service does not have to run",
		share:    "openvswitch",
		programs: map[string]*string{"ovsdb-server": &p.server, "ovs-vswitchd": &p.switchd, "ovsdb-tool": &p.tool, "ovs-vsctl": &p.vsctl, "ovs-ofctl": &p.ofctl},
		schemas:  map[string]*string{"vswitch.ovsschema": &p.schema},
		version:  &p.version, says: "ovs-vswitchd", words: "ovs-vswitchd (Open vSwitch) ",
	}.find(ctx)
}

// runTimeout limits one call of a program, on a real CPU. A call takes about 10 ms.
const runTimeout = 10 * time.Second

// run runs a program to its end, or to the end of this one. Its error contains the last line that
// the program wrote.
func run(ctx context.Context, program string, args ...string) (string, error) {
	return runFor(ctx, runTimeout, program, args...)
}

// runFor is run with a limit of its own.
func runFor(ctx context.Context, limit time.Duration, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scaled(limit))
	defer cancel()
	p := process.New(filepath.Base(program), program, args...)
	p.Cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	out, err := p.Output(ctx)
	if err == nil {
		return out, nil
	}
	if line := p.LastLine(); line != "" {
		err = fmt.Errorf("%s (%w)", line, err)
	}
	return "", fmt.Errorf("%s: %w", p.Name, err)
}

// lastLine returns the last line of a text.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// database returns an empty database of a schema, as ovsdb-tool creates it for a run.
func (p Programs) database(ctx context.Context, id, schema string) (string, error) {
	dir, err := lab.MkdirTemp(id, "ovs")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "conf.db")
	if _, err := run(ctx, p.tool, "create", file, schema); err != nil {
		return "", fmt.Errorf("create a database of %s: %w", filepath.Base(schema), err)
	}
	text, err := os.ReadFile(file)
	return string(text), err
}
