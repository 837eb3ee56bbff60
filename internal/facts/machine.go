package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/warning"
)

// machine gathers a Report from a file system.
type machine struct {
	fsys   fs.FS
	reader kernelReader // nil: what is in no file is left out
	report Report
}

func (m *machine) fact(name, value string) {
	f := result.Fact{Name: name, Value: value}
	m.report.Facts = append(m.report.Facts, f)
	if n := len(m.report.Groups); n > 0 {
		m.report.Groups[n-1].Facts = append(m.report.Groups[n-1].Facts, f)
	}
}

// group begins a group of facts.
func (m *machine) group(title string) {
	m.report.Groups = append(m.report.Groups, Group{Title: title})
}

// factOr adds value, or why it is not known.
func (m *machine) factOr(name, value string, err error) {
	if err != nil {
		value = unknown(err)
	}
	m.fact(name, value)
}

// factFile adds the content of a file of one line.
func (m *machine) factFile(name, path string) {
	value, err := readFile(m.fsys, path)
	m.factOr(name, value, err)
}

// factFileIfAny adds the content of a file that need not be there.
func (m *machine) factFileIfAny(name, path string) {
	value, err := readFile(m.fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	m.factOr(name, value, err)
}

// warn adds a warning. Its scope is the run: in a lab every host is this machine.
func (m *machine) warn(code warning.Code, text string) {
	m.report.Warnings = append(m.report.Warnings, result.Warning{Code: string(code), Scope: "run", Text: text})
}

func unknown(err error) string { return "unknown: " + err.Error() }

// readFile reads a small text file, each run of white space as one space. It
// fails when there is nothing in it. path has no leading slash.
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

// plain turns the error of a read into a short one that errors.Is still knows.
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

// field finds "key: value" or "key<TAB>: value" in the text of a procfs file and
// gives the first value.
func field(text, key string) (string, bool) {
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// readCount reads a file that holds one count.
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

// readText reads a text file as it is.
func (m *machine) readText(path string) (string, error) {
	b, err := fs.ReadFile(m.fsys, path)
	if err != nil {
		return "", plain(path, err)
	}
	return string(b), nil
}

// kernelReader answers what is in no file: the kernel is asked, and nothing is changed.
type kernelReader interface {
	// Offloads are those of a device: tso, gso, gro, tx-checksum.
	Offloads(device string) (map[string]bool, error)
	// Filters are the packet filters of this process's network stack.
	Filters() ([]linuxnet.Filter, error)
}

// kernel asks the kernel that this process runs on.
type kernel struct{}

func (kernel) Offloads(device string) (map[string]bool, error) { return linuxnet.HereOffloads(device) }
func (kernel) Filters() ([]linuxnet.Filter, error)             { return linuxnet.HereFilters() }
