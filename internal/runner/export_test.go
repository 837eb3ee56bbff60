package runner

import "time"

// WithServerLate is a run whose measured set-ups have servers that listen later.
func WithServerLate(cfg Config, by time.Duration) Config {
	cfg.serverLate = by
	return cfg
}

// WithEventLimit is a run whose events take at most so long.
func WithEventLimit(cfg Config, limit time.Duration) Config {
	cfg.eventLimit = limit
	return cfg
}
