package cni

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/version"
)

//go:embed conflists/*.conflist
var builtin embed.FS

// maxConflist is the maximum size of a conflist in bytes, with its placeholders filled in.
const maxConflist = 1 << 20

// values are what the placeholders of a conflist stand for on one host. The first three are
// those of containerd's conf_template.
type values struct {
	PodCIDR       string   // subnet of the host's endpoints, IPv4
	PodCIDRRanges []string // the same for each address family
	Routes        []string // the default route of each address family
	Host          string   // a or b
	Device        string   // the host's device on the underlay
	MTU           int      // of that device, bytes
	Underlay      []span   // free addresses on the underlay, for each address family
}

// span is a range of addresses that only one host assigns.
type span struct{ Subnet, First, Last string }

// conflist is a network configuration list as libcni takes it.
type conflist struct {
	source  string // where it is from, for messages
	sum     string // SHA-256 of its text before placeholders are filled in, shortened
	name    string
	text    []byte
	plugins []plugin
}

// plugin is what is read of a plugin's configuration.
type plugin struct {
	Type         string
	Capabilities map[string]bool
	DataDir      string
	SubnetFile   string
	IPAM         struct{ Type, DataDir string }
}

// Config is a configuration of CNI in one of the directories of NETCONFPATH. Err is why it cannot be read.
type Config struct {
	File, Name string
	Plugins    []string // their types
	Err        error
}

// Configs lists the configurations of this machine. A directory that does not exist has none.
func Configs() []Config {
	var out []Config
	for _, dir := range configDirs() {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			out = append(out, Config{File: dir, Name: filepath.Base(dir), Err: err})
		}
		for _, e := range entries {
			if slices.Contains(extensions(), filepath.Ext(e.Name())) {
				out = append(out, configIn(filepath.Join(dir, e.Name())))
			}
		}
	}
	return out
}

func configIn(file string) Config {
	c := Config{File: file, Name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	text, err := readFile(file)
	if err != nil {
		c.Err = err
		return c
	}
	// A template with placeholders is no JSON; its network has a name all the same.
	var list struct {
		Name, Type string
		Plugins    []struct{ Type string }
	}
	if json.Unmarshal(text, &list) != nil {
		return c
	}
	if list.Name != "" {
		c.Name = list.Name
	}
	if list.Type != "" {
		c.Plugins = append(c.Plugins, list.Type)
	}
	for _, p := range list.Plugins {
		c.Plugins = append(c.Plugins, p.Type)
	}
	return c
}

// load finds a conflist by its path or by its network's name, and fills in its placeholders.
func (d Driver) load(name string, v values) (conflist, error) {
	if strings.Contains(name, "/") || slices.Contains(extensions(), filepath.Ext(name)) {
		if !d.trusts(name, configDirs()) {
			return conflist{}, fmt.Errorf("the CNI configuration %s is not in %s (%s): a study must not choose which programs are executed; name the mode with --modes of tare run, or add the file's directory there, also for --resume", name, configVariable, strings.Join(configDirs(), ":"))
		}
		text, err := readFile(name)
		if err != nil {
			return conflist{}, fmt.Errorf("read the CNI configuration %s: %w", name, err)
		}
		return parse(name, text, v)
	}
	var known []string
	var broken error
	for _, dir := range configDirs() {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return conflist{}, fmt.Errorf("look up the CNI network %s: %w", name, err)
		}
		for _, e := range entries {
			if !slices.Contains(extensions(), filepath.Ext(e.Name())) {
				continue
			}
			file := filepath.Join(dir, e.Name())
			text, err := readFile(file)
			var c conflist
			if err == nil {
				c, err = parse(file, text, v)
			}
			switch {
			case err != nil && broken == nil:
				broken = err
			case err == nil && c.name == name:
				return c, nil
			case err == nil:
				known = append(known, c.name)
			}
		}
	}
	if text, err := builtin.ReadFile("conflists/" + name + ".conflist"); err == nil {
		return parse("built in: "+name, text, v)
	}
	err := fmt.Errorf("no CNI network %s in %s and none built in; there are %s; name one of them, the path of a conflist, or another directory in %s",
		name, strings.Join(configDirs(), ":"), strings.Join(append(known, builtins()...), ", "), configVariable)
	if broken != nil {
		err = fmt.Errorf("%w (%w)", err, broken)
	}
	return conflist{}, err
}

// extensions are those of files that libcni reads as configurations.
func extensions() []string { return []string{".conflist", ".conf", ".json"} }

// builtins lists the names of the built-in networks.
func builtins() (names []string) {
	entries, _ := builtin.ReadDir("conflists") // it is part of the program
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".conflist"))
	}
	return names
}

// readFile reads a regular file of at most maxConflist bytes.
func readFile(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxConflist {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", file, maxConflist)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxConflist))
}

// parse fills in the placeholders of a conflist and reads what is needed of it.
func parse(source string, text []byte, v values) (conflist, error) {
	sum := sha256.Sum256(text)
	c := conflist{source: source, sum: hex.EncodeToString(sum[:6])}
	var err error
	if c.text, err = fill(source, string(text), v); err != nil {
		return c, err
	}
	var list struct {
		Name        string
		CNIVersion  string
		CNIVersions []string
		Plugins     []plugin
		Type        string
	}
	if err := json.Unmarshal(c.text, &list); err != nil {
		return c, fmt.Errorf("%s:%d: not a CNI configuration: %w", source, lineOf(c.text, err), err)
	}
	if c.name = list.Name; c.name == "" {
		return c, fmt.Errorf("%s: the CNI configuration has no name", source)
	}
	if list.Type != "" && list.Plugins == nil { // a single plugin, as before CNI 0.3.0
		var one plugin
		if err := json.Unmarshal(c.text, &one); err != nil {
			return c, fmt.Errorf("%s:%d: not a CNI configuration: %w", source, lineOf(c.text, err), err)
		}
		list.Plugins = []plugin{one}
		if c.text, err = json.Marshal(map[string]any{"name": c.name, "cniVersion": list.CNIVersion, "plugins": []json.RawMessage{c.text}}); err != nil {
			return c, err
		}
	}
	if c.plugins = list.Plugins; len(c.plugins) == 0 {
		return c, fmt.Errorf("%s: the CNI configuration has no plugins", source)
	}
	if known := version.All.SupportedVersions(); list.CNIVersion != "" && len(list.CNIVersions) == 0 && !slices.Contains(known, list.CNIVersion) {
		return c, fmt.Errorf("%s:%d: cniVersion %q is unknown; use one of %s", source, lineWith(c.text, `"cniVersion"`), list.CNIVersion, strings.Join(known, ", "))
	}
	for i, p := range c.plugins {
		for _, name := range []string{p.Type, p.IPAM.Type} {
			if strings.ContainsAny(name, "/\x00") || name == ".." || name == "." {
				return c, fmt.Errorf("%s: plugin %d has the type %q, which is not the name of a program", source, i+1, name)
			}
		}
		if p.Type == "" {
			return c, fmt.Errorf("%s: plugin %d has no type", source, i+1)
		}
	}
	return c, nil
}

// lineOf returns the line of a text to which an error of package json belongs, from 1.
func lineOf(text []byte, err error) int {
	var at int64
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	} else if errors.As(err, &typed) {
		at = typed.Offset
	}
	return 1 + bytes.Count(text[:min(int(at), len(text))], []byte("\n"))
}

// lineWith returns the first line that contains a word, from 1.
func lineWith(text []byte, word string) int {
	return 1 + bytes.Count(text[:max(0, bytes.Index(text, []byte(word)))], []byte("\n"))
}

// has reports whether a plugin of the conflist declares a capability.
func (c conflist) has(capability string) bool {
	return slices.ContainsFunc(c.plugins, func(p plugin) bool { return p.Capabilities[capability] })
}

// subnetFile is where flanneld writes its host's subnet unless told otherwise.
const subnetFile = "/run/flannel/subnet.env"

// flannel returns the path of the file from which a plugin of the conflist reads its host's
// subnet, empty if none does.
func (c conflist) flannel() string {
	for _, p := range c.plugins {
		if p.Type == "flannel" {
			if p.SubnetFile != "" {
				return p.SubnetFile
			}
			return subnetFile
		}
	}
	return ""
}

// missing returns what plugin of the conflist is in none of the directories, as an error.
func (c conflist) missing(dirs []string) error {
	for _, p := range c.plugins {
		for _, name := range []string{p.Type, p.IPAM.Type} {
			found := name == "" || slices.ContainsFunc(dirs, func(dir string) bool {
				info, err := os.Stat(filepath.Join(dir, name))
				return err == nil && info.Mode().IsRegular()
			})
			if !found {
				return fmt.Errorf("plugin %s of the CNI configuration %s is not in %s; install it%s or name its directory in %s or in the option %s",
					name, c.source, strings.Join(dirs, ":"), packaged(name), pathVariable, optionPlugins)
			}
		}
	}
	return nil
}

// packaged returns how to install a plugin if the package of the CNI project's plugins has it.
func packaged(plugin string) string {
	if slices.Contains(strings.Fields("bandwidth bridge dhcp dummy firewall host-device host-local ipvlan loopback macvlan portmap ptp sbr static tap tuning vlan vrf"), plugin) {
		return " (Debian: apt-get install containernetworking-plugins)"
	}
	return ""
}

// stateDirs lists the directories in which the plugins are configured to keep state.
func (c conflist) stateDirs() (dirs []string) {
	for _, p := range c.plugins {
		for _, dir := range []string{p.DataDir, p.IPAM.DataDir} {
			if dir != "" {
				dirs = append(dirs, filepath.Clean(dir))
			}
		}
	}
	return dirs
}
