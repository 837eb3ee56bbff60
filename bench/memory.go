package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memory is the most that a controller and an agent had resident, in bytes.
type memory struct{ controller, agent int }

// memoryWatch reads the peaks of all tare processes now and then: a process
// keeps its own high-water mark, so that none is missed.
type memoryWatch struct {
	done chan struct{}
	wg   sync.WaitGroup
	most memory
}

func watchMemory() *memoryWatch {
	w := &memoryWatch{done: make(chan struct{})}
	w.wg.Go(func() {
		for {
			w.look()
			select {
			case <-w.done:
				return
			case <-time.After(300 * time.Millisecond):
			}
		}
	})
	return w
}

func (w *memoryWatch) stop() memory {
	close(w.done)
	w.wg.Wait()
	return w.most
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

func (w *memoryWatch) look() {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		args := strings.Split(string(line), "\x00")
		if filepath.Base(args[0]) != "tare" || len(args) < 2 {
			continue
		}
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		m := peak.FindSubmatch(status)
		if err != nil || m == nil {
			continue
		}
		kb, _ := strconv.Atoi(string(m[1]))
		switch args[1] {
		case "agent":
			w.most.agent = max(w.most.agent, kb<<10)
		case "run":
			w.most.controller = max(w.most.controller, kb<<10)
		}
	}
}
