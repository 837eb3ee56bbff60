package ovs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
)

// programs are those of an installed Open vSwitch.
type programs struct {
	server, switchd string // the database's daemon and the switch's
	tool, vsctl     string // what makes a database, and what sets the switch
	ofctl           string // what reads it
	schema          string // of the database
	version         string
}

// schemas are where distributions and an installation from source have the schema.
func schemas() []string {
	return []string{"/usr/share/openvswitch/vswitch.ovsschema", "/usr/local/share/openvswitch/vswitch.ovsschema"}
}

// find looks for them all. Its error says what is missing and what to do.
func find(ctx context.Context) (programs, error) {
	const install = "install Open vSwitch (Debian: apt-get install openvswitch-switch); it need not run"
	var p programs
	for name, at := range map[string]*string{"ovsdb-server": &p.server, "ovs-vswitchd": &p.switchd, "ovsdb-tool": &p.tool, "ovs-vsctl": &p.vsctl, "ovs-ofctl": &p.ofctl} {
		path, err := daemon.Find(name)
		if err != nil {
			return p, fmt.Errorf("it needs %s, and there is none: %w; %s", name, err, install)
		}
		*at = path
	}
	for _, s := range schemas() {
		if _, err := os.Stat(s); err == nil {
			p.schema = s
		}
	}
	if p.schema == "" {
		return p, fmt.Errorf("it needs the schema of the switch's database, and there is none at %s; %s", strings.Join(schemas(), " or "), install)
	}
	said, err := run(ctx, p.switchd, "--version")
	if err == nil {
		line, _, _ := strings.Cut(said, "\n")
		var ok bool
		if p.version, ok = strings.CutPrefix(line, "ovs-vswitchd (Open vSwitch) "); !ok {
			err = fmt.Errorf("it says %.80q", line)
		}
	}
	if err != nil {
		return p, fmt.Errorf("ask %s for its version: %w; %s", p.switchd, err, install)
	}
	return p, nil
}

// runWithin bounds one call of a program, on a real CPU. Each takes some 10 ms.
const runWithin = 10 * time.Second

// run runs a program to its end. Its error has the last line that the program wrote.
func run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, driver.ScaleTimeout(runWithin))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	var out, words strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		if line := last(words.String()); line != "" {
			err = fmt.Errorf("%s (%w)", line, err)
		}
		return "", fmt.Errorf("%s: %w", filepath.Base(program), err)
	}
	return out.String(), nil
}

// last is a text's last line.
func last(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// database is an empty one, as ovsdb-tool makes it: a text of lines.
func (p programs) database(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "tare-ovs-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "conf.db")
	if _, err := run(ctx, p.tool, "create", file, p.schema); err != nil {
		return "", fmt.Errorf("make a database for the switch: %w", err)
	}
	text, err := os.ReadFile(file)
	return string(text), err
}
