package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"tare/internal/linuxnet/here"
	"tare/internal/result"
	"tare/internal/warning"
)

// machine describes a machine: it reads its files and its kernel, and collects a Report.
type machine struct {
	files
	collected
	reader kernelReader // nil omits what is not in files
}

// files reads what the files of a system tell, below its root.
type files struct{ fsys fs.FS }

// collected is a Report in the making.
type collected struct{ report Report }

func (c *collected) fact(name, value string) {
	f := result.Fact{Name: name, Value: value}
	c.report.Facts = append(c.report.Facts, f)
	if n := len(c.report.Groups); n > 0 {
		c.report.Groups[n-1].Facts = append(c.report.Groups[n-1].Facts, f)
	}
}

// group begins a group of facts.
func (c *collected) group(title string) {
	c.report.Groups = append(c.report.Groups, Group{Title: title})
}

// factOr adds a fact with value, or with the error if err is not nil.
func (c *collected) factOr(name, value string, err error) {
	if err != nil {
		value = unknown(err)
	}
	c.fact(name, value)
}

// factFile adds a fact with the content of a one-line file.
func (m *machine) factFile(name, path string) {
	value, err := readFile(m.fsys, path)
	m.factOr(name, value, err)
}

// factFileIfAny adds a fact with the content of a file if it exists.
func (m *machine) factFileIfAny(name, path string) {
	value, err := readFile(m.fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	m.factOr(name, value, err)
}

// warn adds a warning for the whole run, because in a lab every host is this machine.
func (c *collected) warn(code warning.Code, format string, args ...any) {
	c.report.Warnings = append(c.report.Warnings, warning.New(code, "run", format, args...))
}

func unknown(err error) string { return "unknown: " + err.Error() }

// readFile reads a small text file and replaces each run of white space with one space. An
// empty file is an error. path has no leading slash.
func readFile(fsys fs.FS, path string) (string, error) {
	b, err := fs.ReadFile(fsys, path)
	if err != nil {
		return "", plain(path, err)
	}
	if s := strings.Join(strings.Fields(string(b)), " "); s != "" {
		return s, nil
	}
	return "", fmt.Errorf("/%s is empty", path)
}

// plain shortens the error of a read and preserves errors.Is.
func plain(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return readError{fmt.Sprintf("no /%s", path), err}
	case errors.Is(err, fs.ErrPermission):
		return readError{fmt.Sprintf("no permission to read /%s", path), err}
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err // its path is relative to the root
	}
	return fmt.Errorf("read /%s: %w", path, err)
}

type readError struct {
	text  string
	cause error
}

func (e readError) Error() string { return e.text }
func (e readError) Unwrap() error { return e.cause }

// field returns the first value of "key: value" or "key<TAB>: value" in the text of a
// procfs file.
func field(text, key string) (string, bool) {
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// readCount reads a file that contains one number.
func readCount(fsys fs.FS, path string) (uint64, error) {
	s, err := readFile(fsys, path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(s, 10, 53)
	if err != nil {
		return 0, fmt.Errorf("/%s contains %q, which is not a number", path, s)
	}
	return n, nil
}

// readText reads a text file unchanged.
func (sys files) readText(path string) (string, error) {
	b, err := fs.ReadFile(sys.fsys, path)
	if err != nil {
		return "", plain(path, err)
	}
	return string(b), nil
}

// kernelReader queries the kernel for what is not in files, without changing anything.
type kernelReader interface {
	// Offloads returns the offloads of a device: tso, gso, gro, tx-checksum.
	Offloads(device string) (map[string]bool, error)
	// Filters returns the packet filters of this process's network stack.
	Filters() ([]here.Filter, error)
	// HypervisorSignatures returns what a hypervisor shows in CPUID, nil if there is none.
	HypervisorSignatures() []string
}

// kernel queries the running kernel.
type kernel struct{}

func (kernel) Offloads(device string) (map[string]bool, error) { return here.Offloads(device) }
func (kernel) Filters() ([]here.Filter, error)                 { return here.Filters() }
func (kernel) HypervisorSignatures() []string                  { return cpuidSignatures() }
