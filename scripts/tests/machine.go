package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// state is what tests must leave as it was, by kind: sysctls, modules, users, units, controllers of control groups, links and rules, each as
// lines. What this user may not read is absent.
type state map[string][]string

// machine reads the state of this machine. On systems other than Linux it has only the links.
func machine() (state, error) {
	s := state{}
	links, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the links of this machine: %w", err)
	}
	for _, l := range links {
		s["link"] = append(s["link"], fmt.Sprintf("%s mtu %d %s", l.Name, l.MTU, l.Flags))
	}
	for kind, file := range map[string]string{"user": "/etc/passwd", "group": "/etc/group", "module": "/proc/modules"} {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s[kind] = linesOf(text)
	}
	for i, m := range s["module"] {
		s["module"][i], _, _ = strings.Cut(m, " ") // then its size and users, which change
	}
	s["sysctl"] = sysctls("/proc/sys")
	if mounts, err := os.ReadFile("/proc/self/mounts"); err == nil {
		s["controllers"] = controllers(mounts)
	}
	for _, dir := range []string{"/etc/systemd/system", "/etc/rc2.d", "/usr/sbin/policy-rc.d"} {
		s["unit"] = append(s["unit"], names(dir)...)
	}
	for _, args := range [][]string{{"nft", "list", "ruleset"}, {"ip", "rule"}, {"ip", "-6", "rule"}, {"ip", "route"}} {
		if out, err := exec.CommandContext(context.Background(), args[0], args[1:]...).Output(); err == nil {
			s[strings.Join(args, " ")] = linesOf(counters.ReplaceAll(out, nil))
		}
	}
	return s, nil
}

// changing are settings that the kernel, or any use of the machine, changes.
var changing = regexp.MustCompile(`^(kernel/ns_last_pid|kernel/random/|fs/binfmt_misc/|fs/dentry-state|kernel/tainted|net/ipv[46]/route/flush|net/ipv[46]/(conf|neigh)/)`)

// sysctls lists the settings below a directory that can be written and read. Those of links are
// with the links.
func sysctls(root string) []string {
	var out []string
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // what this user may not read is absent
		}
		name, _ := filepath.Rel(root, path)
		if info, err := e.Info(); err != nil || info.Mode()&0o222 == 0 || info.Mode()&0o444 == 0 || changing.MatchString(name) {
			return nil //nolint:nilerr // it ended meanwhile
		}
		if value, err := os.ReadFile(path); err == nil {
			out = append(out, name+" = "+string(bytes.TrimSpace(value)))
		}
		return nil
	})
	return out
}

// controllers lists which controllers the root control groups of version 2 pass on to others, by the machine's mounts.
func controllers(mounts []byte) []string {
	out := []string{}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			passed, err := os.ReadFile(filepath.Join(f[1], "cgroup.subtree_control"))
			if err != nil {
				continue
			}
			for name := range strings.FieldsSeq(string(passed)) {
				out = append(out, f[1]+" passes on "+name)
			}
		}
	}
	return out
}

// names lists the files below a directory, and where links lead.
func names(dir string) []string {
	var out []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // there is none
		}
		to, _ := os.Readlink(path)
		out = append(out, strings.TrimSpace(path+" "+to))
		return nil
	})
	return out
}

// counters are what packets change in a list of rules.
var counters = regexp.MustCompile(`packets \d+ bytes \d+`)

// linesOf lists the lines of a text without the space around them.
func linesOf(text []byte) []string {
	out := []string{}
	for line := range strings.Lines(string(text)) {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// differences lists what is only in one of two states, of the kinds that could be read both times.
func (s state) differences(after state) []string {
	var out []string
	for kind, was := range s {
		now, read := after[kind]
		if !read {
			continue
		}
		for _, line := range was {
			if !slices.Contains(now, line) {
				out = append(out, fmt.Sprintf("%s gone: %s", kind, line))
			}
		}
		for _, line := range now {
			if !slices.Contains(was, line) {
				out = append(out, fmt.Sprintf("%s new: %s", kind, line))
			}
		}
	}
	slices.Sort(out)
	return out
}
