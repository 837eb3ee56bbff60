package cni

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"tare/internal/printable"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// pluginTimeout limits how long one plugin may take, on a real CPU. Plugins take milliseconds;
// one that waits for a DHCP server takes seconds.
const pluginTimeout = 30 * time.Second

// executor starts plugins for libcni: without a shell, with a time limit, with limited
// output, and in a process group that is killed as a whole.
type executor struct {
	version.PluginDecoder
	limit time.Duration
	took  []pluginTime // of the current request
}

// pluginTime is how long a plugin took for ADD or DEL.
type pluginTime struct {
	Plugin, Command string
	Took            time.Duration
}

// FindInPath finds a plugin in the directories.
func (executor) FindInPath(plugin string, dirs []string) (string, error) {
	return invoke.FindInPath(plugin, dirs)
}

// ExecPlugin runs a plugin and returns what it wrote to stdout.
func (e *executor) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	began := time.Now()
	stdout, _, err := e.run(ctx, path, stdin, environ)
	for _, command := range []string{"ADD", "DEL"} {
		if slices.Contains(environ, "CNI_COMMAND="+command) {
			e.took = append(e.took, pluginTime{filepath.Base(path), command, time.Since(began)})
		}
	}
	return stdout, err
}

// run runs a plugin and returns its output. An error is one line.
func (e executor) run(ctx context.Context, path string, stdin []byte, environ []string) (stdout []byte, stderr string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.limit, fmt.Errorf("it did not finish within %v and was killed", e.limit))
	defer cancel()
	var text bytes.Buffer
	out := &limitedWriter{to: &text, left: maxOutput}
	p := process.New("plugin "+filepath.Base(path), path)
	p.Group, p.Cmd.Env, p.Cmd.Dir = true, environ, "/"
	p.Cmd.Stdin, p.Cmd.Stdout = bytes.NewReader(stdin), out
	p.Cmd.WaitDelay = outputWait()
	if err := p.Start(nil); err != nil {
		return nil, "", err
	}
	if err := p.Wait(ctx); err != nil {
		return nil, "", errors.Join(err, p.Kill())
	}
	if out.full {
		return nil, "", fmt.Errorf("it wrote %w to stdout", errTooBig)
	}
	if err := p.Err(); err != nil && !errors.Is(err, exec.ErrWaitDelay) { // a child that it left has its stdout
		return nil, "", withDevice(pluginError(text.Bytes(), p.StderrTail(), err), stdin)
	}
	return text.Bytes(), p.StderrTail(), nil
}

// maxOutput is the maximum output of a plugin, bytes, as errTooBig says.
const maxOutput = 1 << 20

// limitedWriter fails when more than left bytes are written, and says so in full.
type limitedWriter struct {
	to   *bytes.Buffer
	left int
	full bool
}

func (w *limitedWriter) Write(b []byte) (int, error) {
	if w.full = w.full || len(b) > w.left; w.full {
		return 0, errTooBig
	}
	w.left -= len(b)
	return w.to.Write(b)
}

// outputWait is how long a child of a plugin that has exited may keep its output open.
func outputWait() time.Duration { return timelimit.Scaled(500 * time.Millisecond) }

// pluginError is the error that a plugin reports on stdout, or else its last words, on one line.
func pluginError(stdout []byte, stderr string, exit error) error {
	var said types.Error
	if err := json.Unmarshal(stdout, &said); err == nil && said.Msg != "" {
		text := said.Msg
		if said.Details != "" {
			text += "; " + said.Details
		}
		if said.Code != 0 {
			text += fmt.Sprintf(" (code %d)", said.Code)
		}
		return errors.New(oneLine(text))
	}
	lines := strings.Split(strings.TrimSpace(cmp.Or(stderr, string(stdout))), "\n")
	if last := oneLine(lines[len(lines)-1]); last != "" {
		return fmt.Errorf("%s (%w)", last, exit)
	}
	return exit
}

// withDevice adds to a plugin's error about a link that was not found which device its
// configuration asks for. Several plugins report no name.
func withDevice(err error, config []byte) error {
	var asks struct{ Master, Device, UplinkInterface, VRFName string }
	if !strings.Contains(err.Error(), "Link not found") || json.Unmarshal(config, &asks) != nil {
		return err
	}
	for _, asked := range []struct{ key, name string }{{"master", asks.Master}, {"device", asks.Device}, {"uplinkInterface", asks.UplinkInterface}, {"vrfname", asks.VRFName}} {
		if asked.name != "" && !strings.Contains(err.Error(), asked.name) {
			err = fmt.Errorf("%w; its configuration asks for the %s %s", err, asked.key, asked.name)
		}
	}
	return err
}

// longestText is how much of a plugin's text an error has.
const longestText = 500

// oneLine joins the lines of a text and shortens it.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(printable.Clean(text)), " ")
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "..."
	}
	return text
}

// about returns how a plugin describes itself when it is started without a command, as those of
// the CNI project do; empty if it does not.
func (e executor) about(ctx context.Context, path string, environ []string) string {
	_, stderr, err := e.run(ctx, path, nil, environ)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return oneLine(line)
}
