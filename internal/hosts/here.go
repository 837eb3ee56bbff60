package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/engine"
	"tare/internal/engine/locate"
	"tare/internal/engine/private"
	"tare/internal/kube"
	"tare/internal/linuxnet"
	"tare/internal/study"
)

// Found is what this machine has that a run can measure without being told.
type Found struct {
	// Private is why no private engine can be started here; nil if one can.
	Private error
	// Installed says that there is a dockerd, whatever this user may do with it.
	Installed bool
	// Engine is a running engine of this machine that this user may use, as a study names it; empty if there is none.
	Engine string
	// Refused is why a running engine of this machine cannot be used, and what to do; empty if none was refused.
	Refused string
	// Cluster is the current context of a kubeconfig; empty without one.
	Cluster string
}

// lookTime bounds how long an engine is waited for before a run.
const lookTime = 3 * time.Second

// Look finds out what this machine has. It starts and changes nothing.
func Look(ctx context.Context) Found {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	f := Found{Private: private.MissingRequirements(ctx), Cluster: kube.CurrentContext()}
	f.Installed = !errors.Is(f.Private, linuxnet.ErrSystem) && slices.ContainsFunc(private.Installations(), func(i private.Installation) bool { return i.Name == study.PackagedEngine })
	if f.Private == nil {
		return f
	}
	for _, name := range RunningEngines() {
		if !locate.Local(name) {
			continue // another machine is measured only if it is named
		}
		e, err := locate.Connect(ctx, name)
		if err == nil {
			_ = e.Disconnect() // it only has idle connections
			f.Engine = name
			return f
		}
		if u, is := engine.AsUnavailable(err); is && !u.NotFound && f.Refused == "" {
			f.Refused = u.Reason + "; " + u.Fix
		}
	}
	return f
}

// RunningEngines lists how studies name the engines that may run here: the one that the docker command would use, and the
// other usual sockets that exist.
func RunningEngines() []string {
	targets := []string{"docker"}
	sockets := []string{"/run/docker.sock", "/run/podman/podman.sock"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		sockets = append(sockets, filepath.Join(dir, "docker.sock"), filepath.Join(dir, "podman", "podman.sock"))
	}
	usual, _ := os.Stat(locate.Socket(targets[0]))
	for _, s := range sockets {
		if i, err := os.Stat(s); err == nil && i.Mode()&os.ModeSocket != 0 && !os.SameFile(i, usual) {
			targets = append(targets, "unix://"+s)
		}
	}
	return targets
}

// Choice is what a run measures that names neither a study nor hosts.
type Choice struct {
	Study  string       // built in
	Target study.Target // empty: the lab
	// Text is one line: what is measured, why, and what to type for something else.
	Text string
}

// Choice chooses what users run: Docker in private engines where these can be started, else the engine that
// runs, else the kernel's part of container networks.
func (f Found) Choice() Choice {
	switch {
	case f.Private == nil:
		return Choice{Study: "docker", Text: "measuring Docker's networks, in private engines of the dockerd of this machine (yours is not touched); " +
			"instead: tare run --engine docker (the engine that runs), tare run default (namespaces without an engine)"}
	case f.Engine != "":
		t := study.Target{Name: f.Engine}
		return Choice{Study: enginesKind().Study(t), Target: t, Text: fmt.Sprintf("measuring the networks of the engine %s, which runs here; instead: %stare run default (namespaces without an engine)", f.Engine, f.asRoot())}
	}
	why := "no Docker Engine is installed here"
	switch {
	case f.Refused != "":
		why = fmt.Sprintf("the engine here cannot be used (%s)", f.Refused)
	case f.Installed:
		why = fmt.Sprintf("no engine can be used here (%v)", f.Private)
	}
	text := "measuring namespaces, not Docker: " + why
	switch {
	case f.Cluster != "":
		text += "; instead: tare run --kube (the cluster " + f.Cluster + ")"
	case f.Installed:
		text += "; instead: sudo tare run docker"
	}
	return Choice{Study: labKind().Study(study.Target{}), Text: text}
}

// asRoot is the command that measures in private engines, where only root is missing for it.
func (f Found) asRoot() string {
	if !f.Installed {
		return ""
	}
	return "sudo tare run docker (private engines), "
}
