package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"tare/internal/result"
)

// SessionsFile records the sessions of a run: what is known before their first trial, and
// what decides their trials. Unlike run.json it also exists when the run was killed.
const SessionsFile = "sessions.json"

// sessionsSchema is the version of sessions.json.
const sessionsSchema = "tare.sessions/1"

// mostSessions is how many sessions are kept: the newest.
const mostSessions = 100

// sessionsJSON is the content of sessions.json. The last session is the newest.
type sessionsJSON struct {
	Schema   string           `json:"schema"`
	Sessions []result.Session `json:"sessions"`
}

// WriteSession records a session, or replaces its record: sessions are told apart by the
// id of their run. The file is replaced atomically. Errors: the record of earlier
// sessions cannot be read; a failed write.
func (d *Dir) WriteSession(s result.Session) error {
	if !d.sessionsRead {
		earlier, err := d.readSessions()
		if err != nil {
			return err
		}
		d.earlier, d.sessions, d.sessionsRead = earlier, slices.Clone(earlier), true
	}
	s.Run.Schema = result.Schema
	if last := len(d.sessions) - 1; last >= 0 && d.sessions[last].Run.ID == s.Run.ID {
		d.sessions = d.sessions[:last]
	}
	for i, e := range d.sessions {
		d.sessions[i].Run = result.Run{
			Schema: e.Run.Schema, ID: e.Run.ID, Started: e.Run.Started, Status: e.Run.Status, Tare: e.Run.Tare, Seed: e.Run.Seed, Profile: e.Run.Profile, Modes: deciding(e.Run.Modes),
		}
	}
	d.sessions = append(d.sessions[max(0, len(d.sessions)-mostSessions+1):], s)
	return d.writeSessions()
}

// WithdrawSession restores the record of the sessions before the one that was written: it
// ran no trial. Errors: a failed write.
func (d *Dir) WithdrawSession() error {
	d.sessions = slices.Clone(d.earlier)
	return d.writeSessions()
}

// deciding are the modes of an earlier session with the facts that decide their trials, by
// which later ones tell trials apart.
func deciding(modes []result.Mode) (out []result.Mode) {
	for _, m := range modes {
		if facts := result.DecidingFacts(m.Facts); len(facts) > 0 {
			out = append(out, result.Mode{ID: m.ID, Facts: facts})
		}
	}
	return out
}

func (d *Dir) writeSessions() error {
	data, err := encode(sessionsJSON{sessionsSchema, d.sessions}, " ")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(d.Path(), SessionsFile), err)
	}
	return d.write(SessionsFile, data)
}

// readSessions returns the recorded sessions, none if an older program ran them.
func (d *Dir) readSessions() ([]result.Session, error) {
	return d.readSessionsWithin(maxRunFile, maxMemory)
}

// readSessionsWithin reads a record of at most that many bytes, and values that take at
// most that much memory.
func (d *Dir) readSessionsWithin(most, memory int64) ([]result.Session, error) {
	data, err := d.read(SessionsFile, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = checkMemory(data, memory)
	}
	if err != nil {
		return nil, fmt.Errorf("read the sessions of %s: %w", d.Path(), err)
	}
	sessions, err := parseSessions(data)
	if errors.Is(err, errSchema) {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(d.Path(), SessionsFile), err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; restore the file, or remove it to report from the trials alone", filepath.Join(d.Path(), SessionsFile), unreadable(err))
	}
	return sessions, nil
}

func parseSessions(data []byte) ([]result.Session, error) {
	if err := checkMemory(data, maxMemory); err != nil {
		return nil, err
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if err := checkSchema(head.Schema, sessionsSchema); err != nil {
		return nil, err
	}
	var file sessionsJSON
	err := json.Unmarshal(data, &file)
	return file.Sessions[max(0, len(file.Sessions)-mostSessions):], err
}
