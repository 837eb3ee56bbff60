package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/engine/locate"
	"tare/internal/engine/private"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/wording"
)

// hereTime is how long [App.here] tries modes. Those that take longer are left to doctor.
const hereTime = 3 * time.Second

// Here prints in six lines what can be measured on this machine: the modes that it
// supports, the Docker Engines, and the command to type.
func Here(ctx context.Context, r rundir.Reader) error {
	a := of(r, "")
	noLab := a.hosts.Enter(ctx)
	if errors.Is(noLab, command.ErrSilent) {
		return noLab
	}
	ctx, stop := a.Ending(ctx)
	defer stop()
	can, cannot := "none: "+command.OneLine(errText(noLab)), ""
	if noLab == nil || errors.Is(noLab, linuxnet.ErrSystem) {
		can, cannot = a.supported(ctx)
	}
	if ctx.Err() != nil {
		return command.Done(command.ExitInterrupted)
	}
	width := a.TextOptions().Width
	for _, l := range []struct{ head, text string }{
		{"tare", a.build.Version + " measures the network overhead that containers add (tare --help: all commands)"},
		{"modes", can},
		{"not here", cannot},
		{"docker", dockerHere(ctx)},
		{"engine", engineHere(ctx)},
		{"start", "tare run (results in about 90 s); tare doctor: what biases results on this machine"},
	} {
		fmt.Fprintln(a.Stdout, wording.Cut(wording.Pad(l.head, 10)+wording.Clean(l.text), width))
	}
	return nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// supported tries the modes that take no engine and no virtual machine, and returns how
// many of each family there are and which cannot be built.
func (a commands) supported(ctx context.Context) (can, cannot string) {
	var names []string
	for _, m := range a.hosts.Target.Drivers.Modes() {
		family, _, _ := strings.Cut(m.ID, "/")
		if family != "docker" && family != "vm" && !study.Asks(m.ID) {
			names = append(names, m.ID)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, hereTime)
	defer cancel()
	quiet := a
	quiet.Stderr = io.Discard
	var families, missing []string
	count := map[string]int{}
	n, others := 0, 0
	for _, p := range quiet.probe(ctx, names) {
		family, _, nested := strings.Cut(p.Mode, "/")
		if !nested {
			family = "host"
		}
		switch p.Status {
		case probedOK:
		case probedLacking:
			missing = append(missing, p.Mode)
			continue
		default: // it failed, or took too long
			others++
			continue
		}
		if !slices.Contains(families, family) {
			families = append(families, family)
		}
		count[family]++
		n++
	}
	for i, f := range families {
		families[i] = fmt.Sprintf("%s (%d)", f, count[f])
	}
	can = fmt.Sprintf("%d can be measured: %s", n, strings.Join(families, ", "))
	if others > 0 {
		can += fmt.Sprintf("; %d more not tried in %s", others, wording.Duration(hereTime))
	}
	if len(missing) == 0 {
		return can, "none of those tried; tare doctor also tries the docker and vm modes"
	}
	return can, fmt.Sprintf("%s (reasons: tare doctor): %s", wording.Count(len(missing), "mode", "modes"), strings.Join(missing, ", "))
}

// dockerHere says whether private engines can be started for the docker modes.
func dockerHere(ctx context.Context) string {
	if err := private.MissingRequirements(ctx); err != nil {
		return "no docker modes: " + command.OneLine(err.Error())
	}
	return "private engines can be started: tare run --modes host,docker/bridge,docker/overlay"
}

// engineHere names the engine that the docker command would use.
func engineHere(ctx context.Context) string {
	e, err := locate.Connect(ctx, "")
	if err != nil {
		return "no running engine found; name one with --engine"
	}
	defer func() { _ = e.Disconnect() }()
	return e.Name + " runs: tare run --engine " + command.Quote(e.Name)
}
