package studyfile

import (
	"iter"

	yaml "go.yaml.in/yaml/v3"

	"tare/internal/study"
)

// Titles reads only the name and description of a study, so that it also works for
// studies of a later version or of another catalog. Either is empty if src does not
// contain it in a valid form.
func Titles(src []byte) (title, description string) {
	var last study.Study
	for key, val := range topLevel(src) {
		var s study.Study
		f, ok := study.Find(s.Fields(), key)
		plain, is := f.Value.(study.Plain)
		if !ok || !is || val.Kind != yaml.ScalarNode || !plain.Read(literal(val)) || f.Check() != "" {
			continue
		}
		switch key {
		case "title":
			last.Title = s.Title
		case "description":
			last.Description = s.Description
		}
	}
	return last.Title, last.Description
}

// NameOf reads only the name of a study, as [Titles] reads its title.
func NameOf(src []byte) string {
	for key, val := range topLevel(src) {
		var s study.Study
		f, _ := study.Find(s.Fields(), key)
		if plain, is := f.Value.(study.Plain); is && key == "name" && val.Kind == yaml.ScalarNode && plain.Read(literal(val)) && f.Check() == "" {
			return s.Name
		}
	}
	return ""
}

// TargetOf reads only the target of a study file, because the catalog depends on it.
// Decode reports what cannot be read.
func TargetOf(src []byte) study.Target {
	var s study.Study
	r := newReader("", study.Catalog{})
	for key, val := range topLevel(src) {
		if key == "engine" || key == "hosts" || key == "cluster" {
			f, _ := study.Find(s.Fields(), key)
			r.value(val, f, key)
		}
	}
	if len(r.errs) > 0 {
		return study.Target{}
	}
	return s.Target()
}

// NetworkOf reads only the network of the reader, as [Titles] reads the title. It is zero if src has none in a valid form.
func NetworkOf(src []byte) study.Network {
	var s study.Study
	r := newReader("", study.Catalog{})
	for key, val := range topLevel(src) {
		if key == "network" {
			f, _ := study.Find(s.Fields(), key)
			r.value(val, f, key)
		}
	}
	if len(r.errs) > 0 {
		return study.Network{}
	}
	for _, f := range s.Network.Fields() {
		if !f.Value.IsZero() && f.Check() != "" {
			return study.Network{}
		}
	}
	return s.Network
}

// topLevel iterates over the keys of a study file and their values, as far as it is
// valid.
func topLevel(src []byte) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		root, err := load("", src)
		if err != nil {
			return
		}
		if root = target(root); root.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(root.Content); i += 2 {
			if !yield(target(root.Content[i]).Value, target(root.Content[i+1])) {
				return
			}
		}
	}
}
