package tool

import (
	"fmt"

	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// versionNotes returns the notes on how a version of iperf3 sends datagrams.
func versionNotes(j job) []result.Note {
	var notes []result.Note
	if j.sends() && j.requestedRate() > 0 {
		text := fmt.Sprintf("iperf3 %s paces with a clock of 1 ms, so it sends in bursts, which may cause loss", j.build.version)
		if !j.build.before(3, 18) {
			text = fmt.Sprintf("iperf3 %s catches up at full speed after a stall, without a limit, which may cause loss", j.build.version)
		}
		notes = append(notes, warning.NewNote(warning.ToolPacing, "%s", text))
	}
	return notes
}

// notes returns the notes that follow from the parameters, for any tool.
func (j job) notes() []result.Note {
	var notes []result.Note
	add := func(code warning.Code, format string, args ...any) {
		notes = append(notes, warning.NewNote(code, format, args...))
	}
	want := max(j.SendBuffer.Socket(), j.ReceiveBuffer.Socket())
	if j.Tool != ntttcpName && want > 0 {
		if j.grantedBuffer < want {
			add(warning.ToolBuffers, "%s got buffers of %d bytes instead of %d, limited by net.core.rmem_max and net.core.wmem_max", j.Tool, j.grantedBuffer, want)
		}
		if j.SendBuffer.Auto || j.ReceiveBuffer.Auto {
			add(warning.ToolBuffers, "%s set both buffers to %d bytes, although one was to be left to the kernel", j.Tool, j.grantedBuffer)
		}
	}
	for _, l := range Lacks() {
		if !l.Refused && l.of(j) {
			add(warning.ToolIgnored, "%s", l.text(j))
		}
	}
	if j.Tool == iperf3Name && j.side == atClient && j.Streams > 1 && j.build.before(3, 16) {
		add(warning.ToolOneThread, "iperf3 %s runs all %d streams on one thread; from 3.16 on each has its own", j.build.version, j.Streams)
	}
	if j.udp() && j.receives() {
		add(warning.ToolWholeTrial, "loss is of the whole trial including the warm-up: %s does not report which datagrams were sent within the window", j.Tool)
	}
	return notes
}

// minReachedShare is the share of the requested load that a generator must reach.
const minReachedShare = 0.99

// rateNote returns a note if the sender did not reach the requested load.
func rateNote(j job, r traffic.Report) []result.Note {
	if !j.sends() || j.requestedRate() == 0 || r.Window.Seconds <= 0 {
		return nil
	}
	reached := float64(r.Window.Sent) * 8 / r.Window.Seconds
	if reached >= minReachedShare*j.requestedRate() {
		return nil
	}
	return []result.Note{warning.NewNote(warning.GeneratorLimited,
		"%s offered %.4g of the requested %.4g Mbit/s: it was too slow", j.Tool, reached/1e6, j.requestedRate()/1e6)}
}

// lossNote returns the note that a tool's own loss is impossible.
func lossNote(tool, version string, lost, of float64) result.Note {
	return warning.NewNote(warning.ToolLossCount,
		"%s %s reports %.0f of %.0f datagrams lost, which is impossible, so loss is what was sent less what was received", tool, version, lost, of)
}
