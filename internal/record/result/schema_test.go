package result

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/stats"
)

var update = flag.Bool("update", false, "write schema.json anew from the types; descriptions are kept")

// schema is the part of JSON Schema that schema.json uses.
type schema struct {
	Dialect     string     `json:"$schema,omitempty"`
	ID          string     `json:"$id,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Ref         string     `json:"$ref,omitempty"`
	AnyOf       []*schema  `json:"anyOf,omitempty"`
	Type        any        `json:"type,omitempty"`
	Const       string     `json:"const,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Pattern     string     `json:"pattern,omitempty"`
	Minimum     *int       `json:"minimum,omitempty"`
	Items       *schema    `json:"items,omitempty"`
	Values      *schema    `json:"additionalProperties,omitempty"`
	Properties  properties `json:"properties,omitzero"`
	Required    []string   `json:"required,omitempty"`
	Defs        properties `json:"$defs,omitzero"`
}

// properties are schemas by name, written in their order.
type properties struct {
	names []string
	of    map[string]*schema
}

func (p *properties) add(name string, s *schema) {
	if p.of == nil {
		p.of = map[string]*schema{}
	}
	p.names, p.of[name] = append(p.names, name), s
}

func (p properties) MarshalJSON() ([]byte, error) {
	text := []byte("{")
	for _, name := range p.names {
		value, err := json.Marshal(p.of[name])
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "%q:%s,", name, value)
	}
	return append(bytes.TrimSuffix(text, []byte(",")), '}'), nil
}

func (p *properties) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &p.of) }

// enums are the types with a fixed list of values.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[Grade]():              wordsOf(Grades[:]),
	reflect.TypeFor[stats.Kind]():         wordsOf(stats.Kinds[:]),
	reflect.TypeFor[stats.ForecastKind](): wordsOf(stats.ForecastKinds[:]),
}

func wordsOf[W ~string](words []W) (texts []string) {
	for _, word := range words {
		texts = append(texts, string(word))
	}
	return texts
}

// schemaOf returns the schema of a type, and adds those of the structs in it to the definitions.
func (root *schema) schemaOf(t *testing.T, typ reflect.Type) *schema {
	switch typ.Kind() {
	case reflect.Pointer:
		return root.schemaOf(t, typ.Elem())
	case reflect.Interface:
		return &schema{}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int:
		return &schema{Type: "integer"}
	case reflect.Uint64:
		return &schema{Type: "integer", Minimum: new(0)}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.String:
		return &schema{Type: "string", Enum: enums[typ]}
	case reflect.Slice:
		return &schema{Type: "array", Items: root.schemaOf(t, typ.Elem())}
	case reflect.Map:
		s := &schema{Type: "object"}
		if typ.Elem().Kind() != reflect.Interface {
			s.Values = root.schemaOf(t, typ.Elem())
		}
		return s
	case reflect.Struct:
		switch typ {
		case reflect.TypeFor[Figures](): // its keys depend on the experiment
			return &schema{Type: "object"}
		case reflect.TypeFor[Samples]():
			return root.schemaOf(t, reflect.TypeFor[[]Sample]())
		}
		if root.Defs.of[typ.Name()] == nil {
			def := &schema{Type: "object"}
			root.Defs.add(typ.Name(), def)
			root.fields(t, def, typ, true)
		}
		return &schema{Ref: "#/$defs/" + typ.Name()}
	}
	require.Fail(t, "no schema", "%s", typ)
	return nil
}

// fields adds the fields of a struct. A key that is omitted when empty is not required.
func (root *schema) fields(t *testing.T, def *schema, typ reflect.Type, required bool) {
	if typ == reflect.TypeFor[stats.Effect]() { // which has its own JSON encoding
		for _, name := range []string{"ratio", "lo", "hi"} {
			def.Properties.add(name, &schema{Type: []string{"number", "null"}})
			def.Required = append(def.Required, name)
		}
		return
	}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			embedded := field.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			root.fields(t, def, embedded, required && embedded == field.Type)
			continue
		case name == "-":
			continue
		}
		require.NotEmpty(t, name, "%s.%s has no key", typ, field.Name)
		s := root.schemaOf(t, field.Type)
		if name == "schema" {
			s.Const = Schema
		}
		def.Properties.add(name, s)
		if required && !strings.Contains(options, "omit") {
			def.Required = append(def.Required, name)
		}
	}
}

// schemaOfTypes returns what schema.json must be, without the descriptions.
func schemaOfTypes(t *testing.T) *schema {
	root := &schema{Dialect: "https://json-schema.org/draft/2020-12/schema", ID: "urn:gorun:v2", Title: Schema}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Run](), reflect.TypeFor[Line](), reflect.TypeFor[Plan](), reflect.TypeFor[Comparison](),
	} {
		root.AnyOf = append(root.AnyOf, root.schemaOf(t, typ))
	}
	line := root.Defs.of["Line"]
	line.Properties.add("crc32", &schema{Type: "string", Pattern: "^[0-9a-f]{8}$"})
	line.Required = append(line.Required, "crc32")
	return root
}

// describe copies the descriptions of another schema to the same places. It returns the places without one.
func (s *schema) describe(from *schema, place string) (missing []string) {
	if from == nil {
		from = &schema{}
	}
	if s.Description = from.Description; s.Description == "" {
		missing = append(missing, place)
	}
	for _, name := range s.Properties.names {
		missing = append(missing, s.Properties.of[name].describe(from.Properties.of[name], place+"."+name)...)
	}
	for _, name := range s.Defs.names {
		missing = append(missing, s.Defs.of[name].describe(from.Defs.of[name], name)...)
	}
	return missing
}

// The schema has exactly the keys of the JSON, each with a description.
func TestSchemaDescribesEveryKey(t *testing.T) {
	want, got := schemaOfTypes(t), &schema{}
	require.NoError(t, json.Unmarshal(JSONSchema, got))
	missing := want.describe(got, Schema)
	text, err := json.Marshal(want)
	require.NoError(t, err)
	if *update {
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, text, "", "  "))
		indented.WriteByte('\n')
		require.NoError(t, os.WriteFile("schema.json", indented.Bytes(), 0o644))
	} else {
		assert.JSONEq(t, string(text), string(JSONSchema))
	}
	slices.Sort(missing)
	assert.Empty(t, missing, "these have no description")
}
