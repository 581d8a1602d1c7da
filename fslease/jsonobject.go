package fslease

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// ErrNewerSchema is returned when a record has a higher schema than Schema.
var ErrNewerSchema = errors.New("written by a newer version (schema above 1)")

// object reads one JSON object field by field and remembers the first thing that was wrong. The fields
// that nobody asked for are what newer versions added.
type object struct {
	fields map[string]json.RawMessage
	err    error
}

func parseObject(data []byte) *object {
	o := &object{}
	switch {
	case len(data) > MaxRecordBytes:
		o.err = fmt.Errorf("larger than %d bytes", MaxRecordBytes)
	case len(bytes.TrimSpace(data)) == 0:
		o.err = errors.New("empty")
	default:
		var err error
		o.fields, err = splitObject(data)
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &syntax):
			o.err = fmt.Errorf("not JSON: %w", err)
		case err != nil || o.fields == nil:
			o.err = errors.New("not a JSON object")
		}
	}
	return o
}

// schema checks the field of that name before anything else is looked at.
func (o *object) schema() {
	if v := o.number("schema", 1, MaxNumber); o.err == nil && v > Schema {
		o.err = ErrNewerSchema
	}
}

func (o *object) fail(name, format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf("field %q "+format, append([]any{name}, args...)...)
	}
}

func (o *object) take(name string) (json.RawMessage, bool) {
	raw, ok := o.fields[name]
	delete(o.fields, name)
	return raw, ok && o.err == nil
}

// number returns the integer name, which must be there and lie between least and most.
func (o *object) number(name string, least, most int64) int64 {
	raw, ok := o.take(name)
	if !ok {
		o.fail(name, "is missing")
		return 0
	}
	v, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || v < least || v > most || raw[0] == '+' || len(raw) > 1 && raw[0] == '0' {
		o.fail(name, "is %.40s, not an integer from %d to %d", raw, least, most)
		return 0
	}
	return v
}

// count is number for a field that may be absent, which reads as 0.
func (o *object) count(name string, most int64) int64 {
	if _, ok := o.fields[name]; !ok {
		return 0
	}
	return o.number(name, 0, most)
}

func (o *object) text(name string) string {
	raw, ok := o.take(name)
	if !ok {
		return ""
	}
	if raw[0] != '"' {
		o.fail(name, "is %.40s, not a string", raw)
		return ""
	}
	return textOf(raw)
}

func (o *object) texts(name string) []string {
	raw, ok := o.take(name)
	if !ok {
		return nil
	}
	if raw[0] != '[' {
		o.fail(name, "is %.40s, not a list of strings", raw)
		return nil
	}
	all := []string{}
	for _, item := range splitList(raw) {
		if item[0] != '"' {
			o.fail(name, "is %.40s, not a list of strings", raw)
			return nil
		}
		all = append(all, textOf(item))
	}
	return all
}

func (o *object) flag(name string) bool {
	raw, ok := o.take(name)
	if ok && string(raw) != "true" && string(raw) != "false" {
		o.fail(name, "is %.40s, not true or false", raw)
	}
	return string(raw) == "true"
}

func (o *object) when(name string) time.Time {
	s := o.text(name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	t = t.UTC()
	if err != nil || t.Year() < 0 || t.Year() > 9999 { // a zone can move it to a year that cannot be written
		o.fail(name, "is %.40q, not a time as in RFC 3339", s)
	}
	return t
}

func (o *object) milliseconds(name string) time.Duration {
	return time.Duration(o.count(name, maxMilliseconds)) * time.Millisecond
}

const maxMilliseconds = MaxNumber / 1000 // fits a time.Duration

func (o *object) key(name string) Key {
	s := o.text(name)
	if o.err != nil {
		return ""
	}
	k, err := ParseKey(s)
	if err != nil {
		o.fail(name, "is no key: %v", err)
	}
	return k
}

// child returns the object name, which must be there.
func (o *object) child(name string) *object {
	raw, ok := o.take(name)
	if !ok {
		o.fail(name, "is missing")
		return &object{err: o.err}
	}
	c := parseObject(raw)
	if c.err != nil {
		o.fail(name, "is %.40s, not an object", raw)
	}
	return c
}

// children returns the objects of the list name, none if it is absent.
func (o *object) children(name string) []*object {
	raw, ok := o.take(name)
	if !ok {
		return nil
	}
	var list []json.RawMessage
	if raw[0] == '[' {
		list = splitList(raw)
	} else {
		o.fail(name, "is %.40s, not a list", raw)
	}
	out := make([]*object, len(list))
	for i, item := range list {
		out[i] = parseObject(item)
		if out[i].err != nil {
			o.fail(name, "holds %.40s, not an object", item)
		}
	}
	return out
}

// adopt makes a child's error the parent's.
func (o *object) adopt(c *object) {
	if o.err == nil {
		o.err = c.err
	}
}

// rest returns the fields that nobody took.
func (o *object) rest() map[string]json.RawMessage {
	if len(o.fields) == 0 {
		return nil
	}
	return o.fields
}

// builder writes one JSON object in the order of the calls.
type builder struct{ buf []byte }

func (b *builder) name(name string) {
	if len(b.buf) == 0 {
		b.buf = append(b.buf, '{')
	} else {
		b.buf = append(b.buf, ',')
	}
	b.buf = append(appendString(b.buf, name), ':')
}

func (b *builder) number(name string, v int64) {
	b.name(name)
	b.buf = strconv.AppendInt(b.buf, v, 10)
}

// count is number, left out if it is 0.
func (b *builder) count(name string, v int64) {
	if v != 0 {
		b.number(name, v)
	}
}

func (b *builder) text(name, s string) {
	b.name(name)
	b.buf = appendString(b.buf, s)
}

// some is text, left out if it is empty.
func (b *builder) some(name, s string) {
	if s != "" {
		b.text(name, s)
	}
}

func (b *builder) texts(name string, list []string) {
	b.name(name)
	b.buf = append(b.buf, '[')
	for i, s := range list {
		if i > 0 {
			b.buf = append(b.buf, ',')
		}
		b.buf = appendString(b.buf, s)
	}
	b.buf = append(b.buf, ']')
}

func (b *builder) flag(name string, v bool) {
	b.name(name)
	b.buf = strconv.AppendBool(b.buf, v)
}

func (b *builder) when(name string, t time.Time) {
	if !t.IsZero() {
		b.text(name, t.UTC().Format(TimeFormat))
	}
}

func (b *builder) raw(name string, data []byte) {
	b.name(name)
	b.buf = append(b.buf, data...)
}

func (b *builder) list(name string, items [][]byte) {
	b.raw(name, slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]")))
}

// end closes the object after the fields of newer versions.
func (b *builder) end(extra map[string]json.RawMessage) []byte {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		b.raw(name, compact(extra[name]))
	}
	if len(b.buf) == 0 {
		b.buf = append(b.buf, '{')
	}
	return append(b.buf, '}')
}

// compact takes the white space of the file it came from out of one JSON value.
func compact(data []byte) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		panic(err) // extra is what was read
	}
	return out.Bytes()
}

// appendString appends s as a JSON string; <, > and & stay readable, bytes that are not UTF-8 become U+FFFD.
func appendString(buf []byte, s string) []byte {
	if isPlain(s) {
		buf = append(buf, '"')
		buf = append(buf, s...)
		return append(buf, '"')
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string can always be encoded
	}
	return append(buf, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Indent lays one JSON value out as the files of a ledger have it: two spaces, a newline at the end.
func Indent(data []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		panic(err) // data is what a builder made
	}
	out.WriteByte('\n')
	return out.Bytes()
}
