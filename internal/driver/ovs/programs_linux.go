package ovs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/driver/daemon"
	"tare/internal/lab"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// programs are the programs of an installed Open vSwitch.
type programs struct {
	server, switchd string // ovsdb-server and ovs-vswitchd
	tool, vsctl     string // ovsdb-tool and ovs-vsctl
	ofctl           string // ovs-ofctl
	schema          string // schema file of the database
	version         string
}

// schemas lists where distributions and an installation from source put the schema.
func schemas() []string {
	return []string{"/usr/share/openvswitch/vswitch.ovsschema", "/usr/local/share/openvswitch/vswitch.ovsschema"}
}

// findPrograms locates all of them. Its error says what is missing and how to install it.
func findPrograms(ctx context.Context) (programs, error) {
	const install = "install Open vSwitch (Debian: apt-get install openvswitch-switch); its service does not have to run"
	var p programs
	for name, at := range map[string]*string{"ovsdb-server": &p.server, "ovs-vswitchd": &p.switchd, "ovsdb-tool": &p.tool, "ovs-vsctl": &p.vsctl, "ovs-ofctl": &p.ofctl} {
		path, err := daemon.Find(name)
		if err != nil {
			return p, fmt.Errorf("%s is not installed: %w; %s", name, err, install)
		}
		*at = path
	}
	for _, s := range schemas() {
		if _, err := os.Stat(s); err == nil {
			p.schema = s
		}
	}
	if p.schema == "" {
		return p, fmt.Errorf("the database schema of Open vSwitch is missing (looked at %s); %s", strings.Join(schemas(), " or "), install)
	}
	said, err := run(ctx, p.switchd, "--version")
	if err == nil {
		line, _, _ := strings.Cut(said, "\n")
		var ok bool
		if p.version, ok = strings.CutPrefix(line, "ovs-vswitchd (Open vSwitch) "); !ok {
			err = fmt.Errorf("unexpected output %.80q", line)
		}
	}
	if err != nil {
		return p, fmt.Errorf("read the version of %s: %w; %s", p.switchd, err, install)
	}
	return p, nil
}

// runTimeout limits one call of a program, on a real CPU. A call takes about 10 ms.
const runTimeout = 10 * time.Second

// run runs a program to its end, or to the end of this one. Its error contains the last line that
// the program wrote.
func run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scaled(runTimeout))
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

// database returns an empty database, as ovsdb-tool creates it for a run.
func (p programs) database(ctx context.Context, id string) (string, error) {
	dir, err := lab.MkdirTemp(id, "ovs")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "conf.db")
	if _, err := run(ctx, p.tool, "create", file, p.schema); err != nil {
		return "", fmt.Errorf("create the Open vSwitch database: %w", err)
	}
	text, err := os.ReadFile(file)
	return string(text), err
}
