package fslease

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestObjectReadsExactlyWhatFits(t *testing.T) {
	number := func(o *object) any { return o.number("v", 1, MaxNumber) }
	count := func(o *object) any { return o.count("v", MaxNumber) }
	text := func(o *object) any { return o.text("v") }
	flag := func(o *object) any { return o.flag("v") }
	when := func(o *object) any { return o.when("v") }
	key := func(o *object) any { return o.key("v") }
	span := func(o *object) any { return o.milliseconds("v") }
	words := func(o *object) any { return strings.Join(o.texts("v"), "|") }
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

	for _, c := range []struct {
		name string
		read func(*object) any
		json string
		want any // nil: it is refused
	}{
		{"number", number, `{"v": 1}`, int64(1)},
		{"number", number, `{"v": 9007199254740991}`, int64(MaxNumber)},
		{"number", number, `{"v": 9007199254740992}`, nil},
		{"number", number, `{"v": 9223372036854775808}`, nil},
		{"number", number, `{"v": 0}`, nil},
		{"number", number, `{"v": -1}`, nil},
		{"number", number, `{"v": 1.0}`, nil},
		{"number", number, `{"v": 1e3}`, nil},
		{"number", number, `{"v": 1e309}`, nil},
		{"number", number, `{"v": "1"}`, nil},
		{"number", number, `{"v": null}`, nil},
		{"number", number, `{"v": true}`, nil},
		{"number", number, `{"V": 1}`, nil},
		{"number", number, `{}`, nil},
		{"count", count, `{}`, int64(0)},
		{"count", count, `{"v": 0}`, int64(0)},
		{"count", count, `{"v": -1}`, nil},
		{"count", count, `{"v": null}`, nil},
		{"text", text, `{"v": "a\u0000b"}`, "a\x00b"},
		{"text", text, `{}`, ""},
		{"text", text, `{"v": null}`, nil},
		{"text", text, `{"v": 1}`, nil},
		{"flag", flag, `{"v": true}`, true},
		{"flag", flag, `{"v": false}`, false},
		{"flag", flag, `{}`, false},
		{"flag", flag, `{"v": 1}`, nil},
		{"flag", flag, `{"v": "true"}`, nil},
		{"when", when, `{"v": "2026-01-02T12:00:00Z"}`, noon},
		{"when", when, `{"v": "2026-01-02T14:00:00.000+02:00"}`, noon},
		{"when", when, `{}`, time.Time{}},
		{"when", when, `{"v": "yesterday"}`, nil},
		{"when", when, `{"v": 1767355200}`, nil},
		{"when", when, `{"v": "9999-12-31T23:59:59-23:00"}`, nil},
		{"when", when, `{"v": "0000-01-01T00:00:00+01:00"}`, nil},
		{"key", key, `{"v": "repo/api"}`, Key("repo/api")},
		{"key", key, `{"v": "repo/../api"}`, nil},
		{"key", key, `{}`, nil},
		{"milliseconds", span, `{"v": 1500}`, 1500 * time.Millisecond},
		{"milliseconds", span, `{"v": 9007199254740}`, 9007199254740 * time.Millisecond},
		{"milliseconds", span, `{"v": 9007199254741}`, nil},
		{"texts", words, `{"v": ["a", "", "b"]}`, "a||b"},
		{"texts", words, `{}`, ""},
		{"texts", words, `{"v": "a"}`, nil},
		{"texts", words, `{"v": [1]}`, nil},
		{"texts", words, `{"v": null}`, nil},
	} {
		o := parseObject([]byte(c.json))
		got := c.read(o)
		switch {
		case c.want == nil && o.err == nil:
			t.Errorf("%s of %s is %v, want an error", c.name, c.json, got)
		case c.want == nil && !strings.Contains(o.err.Error(), `"v"`):
			t.Errorf("%s of %s: %q does not name the field", c.name, c.json, o.err)
		case c.want != nil && (o.err != nil || got != c.want):
			t.Errorf("%s of %s is %v, %v; want %v", c.name, c.json, got, o.err, c.want)
		}
	}
}

func TestObjectReportsTheFirstErrorOnly(t *testing.T) {
	o := parseObject([]byte(`{"schema": 2, "a": 1, "b": 2}`))
	o.schema()
	o.text("a")
	o.child("missing")
	if !errors.Is(o.err, ErrNewerSchema) {
		t.Errorf("%v, want ErrNewerSchema: what a newer version means by its fields is not known", o.err)
	}
}

func TestObjectKeepsWhatNobodyTook(t *testing.T) {
	o := parseObject([]byte(`{"a": 1, "b": {"c": [2]}, "d": {"e": 3}}`))
	o.number("a", 1, 1)
	c := o.child("d")
	c.number("e", 1, 9)
	if rest := o.rest(); len(rest) != 1 || string(rest["b"]) != `{"c": [2]}` {
		t.Errorf("rest: %s", rest)
	}
	if c.rest() != nil {
		t.Errorf("rest of an object read to the end: %s", c.rest())
	}
}

func TestObjectChildren(t *testing.T) {
	for _, bad := range []string{`{"c": 1}`, `{"c": null}`, `{"c": [1]}`, `{"c": [null]}`, `{"c": {}}`} {
		o := parseObject([]byte(bad))
		if o.children("c"); o.err == nil {
			t.Errorf("children of %s: no error", bad)
		}
		o = parseObject([]byte(bad))
		if o.child("c"); o.err == nil && bad != `{"c": {}}` {
			t.Errorf("child of %s: no error", bad)
		}
	}
	o := parseObject([]byte(`{"c": [{"v": 1}, {"v": "x"}]}`))
	readAll(o, "c", func(c *object) int64 { return c.number("v", 1, 9) })
	if o.err == nil {
		t.Error("what is wrong in a child is not wrong in the parent")
	}
}

func TestParseObjectRefusesWhatIsNoObject(t *testing.T) {
	for _, bad := range []string{"", " \n", "null", "[]", "1", `{"a":1`, `{"a":1} {}`, "\ufeff{}", `{"a":` + strings.Repeat(" ", MaxRecordBytes) + "1}"} {
		if o := parseObject([]byte(bad)); o.err == nil {
			t.Errorf("%.20q is taken for an object", bad)
		}
	}
}

func TestBuilderWritesFieldsInOrder(t *testing.T) {
	var b builder
	b.number("n", math.MaxInt64)
	b.count("none", 0)
	b.count("one", 1)
	b.text("t", "<a&b>")
	b.some("empty", "")
	b.texts("list", []string{"x", "\xff"})
	b.flag("f", true)
	b.when("never", time.Time{})
	b.when("at", time.Date(2026, 1, 2, 3, 4, 5, 678999999, time.FixedZone("", 3600)))
	b.list("objects", [][]byte{[]byte(`{}`), []byte(`1`)})
	got := b.end(map[string]json.RawMessage{"z": json.RawMessage("[1,\n 2.50]"), "a": json.RawMessage(`null`)})
	want := `{"n":9223372036854775807,"one":1,"t":"<a&b>","list":["x","\ufffd"],"f":true,"at":"2026-01-02T02:04:05.678Z","objects":[{},1],"a":null,"z":[1,2.50]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := new(builder).end(nil); string(got) != "{}" {
		t.Errorf("an object without fields is %s", got)
	}
	if got := Indent([]byte(`{"a":[],"b":{"c":1}}`)); string(got) != "{\n  \"a\": [],\n  \"b\": {\n    \"c\": 1\n  }\n}\n" {
		t.Errorf("indented: %s", got)
	}
}
