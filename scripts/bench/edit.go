package main

import (
	"encoding/json"
	"os"
)

// edit changes the fields of a JSON file.
func edit(file string, change func(map[string]any)) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	change(fields)
	if data, err = json.Marshal(fields); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
