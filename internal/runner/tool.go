package runner

import (
	"fmt"

	"tare/internal/study"
	"tare/internal/tool"
	"tare/internal/traffic"
)

// checked holds the reports of a trial's two ends to what was asked for and, of
// an external tool, to each other. What a reader must know joins the client's
// notes; an error fails the trial.
func checked(p traffic.Params, client, server *traffic.Report) error {
	if made := maker(*client); made != asked(p) {
		return fmt.Errorf("%s was asked for, but it was %s that made the traffic", asked(p), made)
	}
	notes, err := tool.Check(p, *client, *server)
	client.Notes = append(client.Notes, notes...)
	return err
}

func asked(p traffic.Params) string {
	if p.Tool == "" {
		return study.BuiltIn
	}
	return p.Tool
}

func maker(r traffic.Report) string {
	if r.Tool == nil {
		return study.BuiltIn
	}
	return r.Tool.Name
}
