package engine

import (
	"strings"
	"time"
)

// dateFormat is that of the fact result.FactEngineReleased.
const dateFormat = time.DateOnly

// released is the release date for a result, empty if it is unknown.
func (v Versions) released() string {
	if v.Released.IsZero() {
		return ""
	}
	return v.Released.Format(dateFormat)
}

// ReleaseOf returns when a version of Docker Engine was published: the date of the first release of
// its line, such as 20.10, because a distribution may build an old line today. For a line that this
// program does not know it is the build time that the engine reports, and zero if it reports none.
func ReleaseOf(version, built string) time.Time {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) > 1 {
		if date, known := lines()[parts[0]+"."+parts[1]]; known {
			at, _ := time.Parse(dateFormat, date)
			return at
		}
	}
	for _, format := range []string{time.RFC3339Nano, time.ANSIC} {
		if at, err := time.Parse(format, built); err == nil {
			return at
		}
	}
	return time.Time{}
}

// lines are the first releases of the lines of Docker Engine, by its release notes.
func lines() map[string]string {
	return map[string]string{
		"18.09": "2018-11-08", "19.03": "2019-07-22", "20.10": "2020-12-08",
		"23.0": "2023-02-01", "24.0": "2023-05-16", "25.0": "2024-01-19",
		"26.0": "2024-03-20", "26.1": "2024-04-22",
		"27.0": "2024-06-24", "27.1": "2024-07-22", "27.2": "2024-08-27", "27.3": "2024-09-19", "27.4": "2024-12-09", "27.5": "2025-01-13",
		"28.0": "2025-02-19", "28.1": "2025-04-17", "28.2": "2025-05-28", "28.3": "2025-06-24", "28.4": "2025-09-03", "28.5": "2025-10-02",
		"29.0": "2025-11-10",
	}
}
