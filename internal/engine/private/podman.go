package private

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/version"
)

// Podman is an installation of Podman, with how to start it on a host of a lab.
type Podman struct {
	Path    string // of the program podman
	Version string // as it reports it
	// Cache is the directory of scripts/setup-podman if the programs are there; empty for an
	// installed Podman.
	Cache string
	// Backend is what connects containers to networks: netavark, cni, or empty for Podman's
	// choice.
	Backend string
	// Firewall is what netavark writes its rules with: study.FirewallIptables, or study.FirewallNftables.
	Firewall string
	// User is the id of the ordinary user that runs it, 0 for root. An ordinary user's Podman
	// creates a user namespace with only this user in it.
	User int
}

// The backends of Podman.
const (
	BackendNetavark = "netavark"
	BackendCNI      = "cni"
)

// OrdinaryUser is the user that has no rights and owns no files: nobody.
const OrdinaryUser = 65534

// PodmanVariable is the environment variable with the Podman to use: the path of the program, or the
// directory that scripts/setup-podman has made.
const PodmanVariable = "TARE_PODMAN"

// PodmanInfo is what a running Podman reports about itself. What it does not report is empty.
type PodmanInfo struct {
	Backend        string // netavark or cni
	BackendVersion string // of netavark, from Podman 4.6 on
	Firewall       string // as in Podman; empty of an ordinary user's Podman, which writes no rules
	Runtime        string // name and version of the OCI runtime
	Slirp, Pasta   string // versions, of an ordinary user's Podman
	Rootless       bool
}

// Facts returns what is known for a result.
func (i PodmanInfo) Facts() []result.Fact {
	var out []result.Fact
	for _, f := range []result.Fact{
		result.Deciding("network backend", strings.TrimSpace(i.Backend+" "+i.BackendVersion)), result.Deciding("firewall driver", i.Firewall), result.Deciding("OCI runtime", i.Runtime),
		result.Deciding("slirp4netns", i.Slirp), result.Deciding("pasta", i.Pasta),
	} {
		if f.Value != "" {
			out = append(out, f)
		}
	}
	return out
}

// minPodman is the oldest major version whose API and networks are supported.
const minPodman = "4"

// testedPodman is what the tests ran.
func testedPodman() version.Tested {
	return version.Tested{Oldest: "4.3", Between: " to ", Newest: "5.8"}
}

// locatePodman finds podman: the one that PodmanVariable names, the one in PATH, or the one of
// scripts/setup-podman.
func locatePodman() (Podman, error) {
	const program = "podman"
	if named := os.Getenv(PodmanVariable); named != "" {
		for _, path := range []string{named, filepath.Join(named, "bin", program)} {
			if executable(path) && filepath.IsAbs(path) {
				return podmanAt(path), nil
			}
		}
		return Podman{}, fmt.Errorf("%s names %s, which is neither the absolute path of podman nor a directory with bin/podman", PodmanVariable, named)
	}
	if path, err := Packaged().lookup(program); err == nil {
		return podmanAt(path), nil
	}
	if base, err := os.UserCacheDir(); err == nil {
		if path := filepath.Join(base, "tare", program, "bin", program); executable(path) {
			return podmanAt(path), nil
		}
	}
	return Podman{}, errors.New("podman cannot be found in " + Packaged().searchPath() + "; install Podman 4 or newer (Debian: apt-get install podman netavark iptables)")
}

// podmanAt returns the Podman with that program. A directory of scripts/setup-podman has the files of
// packages in root, beside the programs' directory.
func podmanAt(path string) Podman {
	c := Podman{Path: path}
	cache := filepath.Dir(filepath.Dir(path))
	if s, err := os.Stat(filepath.Join(cache, "root", "usr")); err == nil && s.IsDir() && filepath.Base(filepath.Dir(path)) == "bin" {
		c.Cache = cache
	}
	return c
}

// check returns why this Podman cannot be used, with what to do.
func (c Podman) check() error {
	if !version.Known(c.Version) {
		return fmt.Errorf("%s does not report its version; install Podman %s or newer (Debian: apt-get install podman)", c.Path, minPodman)
	}
	if version.Older(c.Version, minPodman+".0") {
		return fmt.Errorf("Podman %s (%s) is too old; install %s.0 or newer (tested: %s)", c.Version, c.Path, minPodman, testedPodman())
	}
	if known := []string{"", BackendNetavark, BackendCNI}; !slices.Contains(known, c.Backend) {
		return fmt.Errorf("Podman has no network backend %q; use %s or %s", c.Backend, BackendNetavark, BackendCNI)
	}
	if c.Backend == BackendCNI && version.AtLeast(c.Version, "5.0") {
		return fmt.Errorf("Podman %s has no network backend %s, which ended with version 4; leave out the option", c.Version, BackendCNI)
	}
	return nil
}

// BridgeName returns the name of the default network's bridge.
func (i PodmanInfo) BridgeName() string {
	if i.Backend == BackendCNI {
		return "cni-podman0"
	}
	return "podman0"
}

// podmanPrograms is where the directory of scripts/setup-podman is mounted for an engine: an
// ordinary user may not enter the cache of another.
const podmanPrograms = "/run/podman"

// parsePodmanInfo reads what is needed of the answer to libpod/info.
func parsePodmanInfo(text []byte) (PodmanInfo, error) {
	type versioned struct {
		Name, Executable, Version, Package string
	}
	var got struct {
		Host struct {
			NetworkBackend     string
			NetworkBackendInfo versioned
			OCIRuntime         versioned
			Slirp4NetNS, Pasta versioned
			Security           struct{ Rootless bool }
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return PodmanInfo{}, err
	}
	h := got.Host
	if h.NetworkBackend == "" {
		return PodmanInfo{}, errors.New("it does not report its network backend")
	}
	info := PodmanInfo{
		Backend: h.NetworkBackend, BackendVersion: versionIn(h.NetworkBackendInfo.Version), Runtime: strings.TrimSpace(h.OCIRuntime.Name + " " + versionIn(h.OCIRuntime.Version)),
		Rootless: h.Security.Rootless,
	}
	if info.Rootless {
		info.Slirp, info.Pasta = versionIn(h.Slirp4NetNS.Version), pastaVersion(h.Pasta.Version)
	}
	return info, nil
}

// firewallOf returns what a netavark writes its rules with unless it is told, of what it prints for version: what
// it was built for. Versions before 1.10 do not tell, and have iptables only; from 2.0 on there is no iptables.
func firewallOf(text []byte) string {
	var said struct {
		Version string
		Default string `json:"default_fw_driver"`
	}
	if json.Unmarshal(text, &said) == nil && (said.Default == study.FirewallNftables || version.AtLeast(said.Version, "2.0")) {
		return study.FirewallNftables
	}
	return study.FirewallIptables
}

// pastaVersion returns the version in what pasta prints, whose versions are dates with a commit.
func pastaVersion(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "pasta "))
}

// versionIn returns the version in the first line that a program prints for --version: the first
// word that starts with a digit, after a v if there is one.
func versionIn(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	for word := range strings.FieldsSeq(line) {
		word = strings.TrimSuffix(strings.TrimPrefix(word, "v"), ",")
		if word != "" && word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return ""
}
