package wireguard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/tunnel"
	"tare/internal/linuxnet"
)

// replyTimeout bounds how long an end may take to stand, or to tell its counters.
const answerWithin = 10 * time.Second

// needTUN says what is lacking where a process cannot have a tunnel's device.
func needTUN(mode string) error {
	if err := linuxnet.CheckTUN(); err != nil {
		return &driver.Unsupported{Mode: mode, Reason: err.Error()}
	}
	return nil
}

// libraryPeer is an end that this program is.
type libraryPeer struct {
	*daemon.Process
	mu    sync.Mutex
	lines *bufio.Reader
}

// inLibrary starts this program as both ends.
func inLibrary(_ context.Context, p *tunnel.Path, both ends) (peers [2]peer, err error) {
	if err := needTUN(p.Mode); err != nil {
		return peers, err
	}
	var up [2]*libraryPeer
	for i, s := range p.Sides() {
		proc, err := daemon.StartSelf("the WireGuard process of host "+s.At, Command, both[i].Run, s.NS.Start)
		if err != nil {
			return peers, err
		}
		p.AddProcess(proc)
		p.AddHandler(s, "process", comm, counts)
		up[i] = &libraryPeer{Process: proc, lines: bufio.NewReader(proc)}
		peers[i] = up[i]
		if err := up[i].ask(both[i]); err != nil {
			return peers, err
		}
	}
	for i, s := range p.Sides() {
		var r ready
		if err := up[i].answer(&r); err != nil {
			return peers, err
		}
		if err := p.AdoptDevice(s, device); err != nil {
			return peers, err
		}
		if i == 0 {
			p.AddFact("WireGuard", fmt.Sprintf("Go library %s %s in a process of tare", library, r.Version))
			p.AddFact("packets at once", fmt.Sprint(r.Batch))
		}
	}
	return peers, nil
}

// ask writes a line.
func (s *libraryPeer) ask(what any) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if _, err := s.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write to %s: %w", s.Name, err)
	}
	return nil
}

// answer reads one.
func (s *libraryPeer) answer(into any) error {
	err := s.SetReadTimeout(answerWithin)
	if err == nil {
		var line []byte
		if line, err = s.lines.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, into)
		}
	}
	if err == nil {
		return nil
	}
	if fate := s.ExitReason(); fate != "" {
		return fmt.Errorf("%s", fate)
	}
	return fmt.Errorf("read what %s says: %w", s.Name, err)
}

func (s *libraryPeer) transfer() (tx, rx uint64, agreed time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var c counters
	if err = s.ask("counters"); err == nil {
		err = s.answer(&c)
	}
	return c.TX, c.RX, c.Handshake, err
}
