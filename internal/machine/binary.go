package machine

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
)

// windowsOS is Go's name of that system.
const windowsOS = "windows"

// BinaryName returns the name of the file with this program for a system, such as
// tare-linux-arm64.
func BinaryName(s System) string {
	name := "tare-" + s.OS + "-" + s.Arch
	if s.OS == windowsOS {
		name += ".exe"
	}
	return name
}

// source returns the file with this program for a system, "" if there is none.
func (r *remote) source(s System) string { return Find(s, r.options.Binaries) }

// Find returns the file with this program for a system, "" if there is none: the running one, or
// the one in dir, in the directory of EnvBinaries, or beside the running one.
func Find(s System, dir string) string {
	program, err := self()
	if err != nil {
		return ""
	}
	if s == here() {
		return program
	}
	for _, dir := range directories(dir) {
		path := filepath.Join(dir, BinaryName(s))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// directories are where this program for other systems may be.
func directories(dir string) []string {
	if dir = cmp.Or(dir, os.Getenv(EnvBinaries)); dir != "" {
		return []string{dir}
	}
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	dir = filepath.Dir(program)
	return []string{dir, filepath.Join(filepath.Dir(dir), "lib", "tare")}
}

// self returns a path of the running program, on Linux one that stays valid when its file is
// replaced.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}
