package study

import (
	"reflect"

	yaml "go.yaml.in/yaml/v3"
)

// Titles reads what a study calls itself and nothing else of it, so that it
// also reads studies of a later version or of another catalog. Either is empty
// where src does not say it properly.
func Titles(src []byte) (title, description string) {
	root, err := load("", src)
	if err != nil {
		return "", ""
	}
	texts := map[string]string{}
	for i := 0; i+1 < len(root.Content) && root.Kind == yaml.MappingNode; i += 2 {
		key, val := target(root.Content[i]).Value, target(root.Content[i+1])
		if val.Kind == yaml.ScalarNode && val.ShortTag() == "!!str" && check(key, reflect.ValueOf(val.Value)) == "" {
			texts[key] = val.Value
		}
	}
	return texts["title"], texts["description"]
}
