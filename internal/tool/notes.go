package tool

import (
	"fmt"

	"tare/internal/traffic"
	"tare/internal/warning"
)

// The codes of the notes that tools leave. docs/tools.md explains each.
const (
	NoteStderr      = string(warning.ToolSays)         // what the tool wrote to its standard error
	NotePacing      = string(warning.ToolPacing)       // the tool paces unevenly
	NoteLossCount   = string(warning.ToolLossCount)    // the tool's own loss cannot be
	NotePhantomLoss = string(warning.ToolPhantomLoss)  // the tool counts what it did not send
	NoteTailLoss    = string(warning.TailLoss)         // loss at the end, which the tool does not see
	NoteWarmupLoss  = string(warning.ToolWholeTrial)   // loss is of the whole trial
	NoteOneThread   = string(warning.ToolOneThread)    // all streams on one thread
	NoteBuffers     = string(warning.ToolBuffers)      // buffers are not what was asked for
	NoteIgnored     = string(warning.ToolIgnored)      // a parameter that the tool does not know
	NoteLimited     = string(warning.GeneratorLimited) // the tool did not reach the load asked for
	NoteNoLoss      = string(warning.ToolNoLoss)       // loss is not known
	NoteVersions    = string(warning.ToolVersions)     // the ends run different versions
)

// versionNotes are the traps of a version of iperf3 that bear on datagrams.
func versionNotes(j job) []traffic.Note {
	var notes []traffic.Note
	if j.sends() && j.requestedRate() > 0 {
		text := fmt.Sprintf("iperf3 %s paces with a clock of 1 ms: what is due goes out in bursts, and may be lost for that alone", j.build.version)
		if !j.build.before(3, 18) {
			text = fmt.Sprintf("iperf3 %s catches up at full speed behind a stall, without a bound: what is lost then is the generator's doing", j.build.version)
		}
		notes = append(notes, traffic.Note{Code: NotePacing, Text: text})
	}
	return notes
}

// notes are those that follow from what was asked of any tool.
func (j job) notes() []traffic.Note {
	var notes []traffic.Note
	add := func(code, format string, args ...any) {
		notes = append(notes, traffic.Note{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	want := max(j.SendBuffer, j.ReceiveBuffer)
	if j.Tool != ntttcpName && want > 0 {
		if j.grantedBuffer < want {
			add(NoteBuffers, "%s got buffers of %d bytes, not %d: net.core.rmem_max and net.core.wmem_max grant no more", j.Tool, j.grantedBuffer, want)
		}
		if min(j.SendBuffer, j.ReceiveBuffer) < 0 {
			add(NoteBuffers, "%s sets both buffers to %d bytes where one was to be left to the kernel", j.Tool, j.grantedBuffer)
		}
	}
	if j.Burst > 1 {
		add(NoteIgnored, "%s knows no bounded burst: burst %d is not in force", j.Tool, j.Burst)
	}
	if j.Tool == iperf3Name && j.side == atClient && j.Streams > 1 && j.build.before(3, 16) {
		add(NoteOneThread, "iperf3 %s drives all %d streams on one thread: 3.16 and later give each its own", j.build.version, j.Streams)
	}
	if j.udp() && j.receives() {
		add(NoteWarmupLoss, "loss is of the whole trial, warm-up included: %s does not tell which datagrams were sent within the window", j.Tool)
	}
	return notes
}

// minReachedShare is how near the load asked for a generator must come.
const minReachedShare = 0.99

// rateNote notes a sender that did not reach the load asked for.
func rateNote(j job, r traffic.Report) []traffic.Note {
	if !j.sends() || j.requestedRate() == 0 || r.Window.Seconds <= 0 {
		return nil
	}
	reached := float64(r.Window.Sent) * 8 / r.Window.Seconds
	if reached >= minReachedShare*j.requestedRate() {
		return nil
	}
	return []traffic.Note{{Code: NoteLimited, Text: fmt.Sprintf(
		"%s offered %.4g of the %.4g Mbit/s asked for: it could not keep up", j.Tool, reached/1e6, j.requestedRate()/1e6)}}
}

// lossNote says that a tool's own loss is not to be believed.
func lossNote(j job, lost, of float64) traffic.Note {
	return traffic.Note{Code: NoteLossCount, Text: fmt.Sprintf(
		"%s %s says that %.0f of %.0f datagrams were lost, which cannot be: loss is what was sent less what was received", j.Tool, j.build.version, lost, of)}
}
