package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// groupCounts is what a control group has counted of its limit on memory. noKills
// says that it does not count what was ended.
type groupCounts struct {
	stalls, kills uint64
	noKills       bool
}

// readGroup reads a group of either version: memory.events of version 2, or
// memory.failcnt and memory.oom_control of version 1, where kernels before 4.13 do not
// count what they ended.
func readGroup(dir string) (g groupCounts, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "memory.events"))
	if err == nil {
		there := false
		if g.stalls, there, err = keyed(text, "max"); err == nil && !there {
			err = errors.New("memory.events has no max")
		}
		return g, groupError(dir, errors.Join(err, g.ended(text)))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return g, groupError(dir, err)
	}
	count, err := os.ReadFile(filepath.Join(dir, "memory.failcnt"))
	if err != nil {
		return g, groupError(dir, err)
	}
	if g.stalls, err = strconv.ParseUint(strings.TrimSpace(string(count)), 10, 53); err != nil {
		return g, groupError(dir, err)
	}
	if text, err = os.ReadFile(filepath.Join(dir, "memory.oom_control")); err == nil {
		err = g.ended(text)
	}
	return g, groupError(dir, err)
}

// ended takes the number of processes that were ended from text.
func (g *groupCounts) ended(text []byte) error {
	n, there, err := keyed(text, "oom_kill")
	g.kills, g.noKills = n, !there
	return err
}

func groupError(dir string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read what the control group at %s counts of its memory: %w", dir, err)
}
