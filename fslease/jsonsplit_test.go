package fslease

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is taken apart by hand is what encoding/json makes of it, errors too.
func FuzzSplitObject(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { } `, `null`, `[]`, `"x"`, `7`, ``, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":1}{}`,
		`{"a":1,"b":"x","c":[1,{"d":"}"}],"e":{"f":"\"]"},"g":true,"h":null,"i":-1.5e3}`,
		"\n{\t\"a\" : 1 ,\r\n \"b\" : [ 1 , 2 ] , \"c\" : \"\\u00e9\\n\" } \n",
		`{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, "{\"\xff\":\"\xff\"}", `{"":""}`, `{"a\\":"\\"}`, `{"a":"\ud800"}`,
		`{"a":[[[]],[{}]],"b":"[{"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := splitObject(data)
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(data, &want)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%q: %v, want %v", data, err, wantErr)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: %s", data, diff)
		}
		for name, raw := range got {
			switch raw[0] {
			case '"':
				var s string
				if json.Unmarshal(raw, &s) != nil || textOf(raw) != s {
					t.Errorf("%s: %q, want %q", name, textOf(raw), s)
				}
			case '[':
				var list []json.RawMessage
				if json.Unmarshal(raw, &list) != nil || len(list) != len(splitList(raw)) || len(list) > 0 && !cmp.Equal(list, splitList(raw)) {
					t.Errorf("%s: %q, want %q", name, splitList(raw), list)
				}
			}
		}
	})
}
