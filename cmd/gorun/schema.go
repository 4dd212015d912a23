package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"gorun/internal/record/result"
)

// schemaNode is the description of a type or a key in the schema of gorun's JSON.
type schemaNode struct {
	Description string
	Type        any    // a name, or several
	Ref         string `json:"$ref"`
	Enum        []string
	Items       *schemaNode
	Properties  ordered
	Values      *schemaNode `json:"additionalProperties"`
}

// ordered is the members of a JSON object, in the order in which they are written.
type ordered []member

type member struct {
	name string
	schemaNode
}

// UnmarshalJSON reads an object.
func (o *ordered) UnmarshalJSON(text []byte) error {
	read := json.NewDecoder(bytes.NewReader(text))
	if _, err := read.Token(); err != nil { // the brace
		return err
	}
	for read.More() {
		name, err := read.Token()
		if err != nil {
			return err
		}
		m := member{name: fmt.Sprint(name)}
		if err := read.Decode(&m.schemaNode); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

// schemaSummary is the beginning of the topic.
const schemaSummary = "" +
	"- `samples[].seconds`: the wall time of each sample; `.user_seconds` and `.system_seconds` are its CPU time\n" +
	"- `samples[].cell`: the index in `cells` of what was measured; absent in a run of one cell\n" +
	"- `samples[].values`: the figures of the experiment\n" +
	"- `samples[].quality`: `.verdict` is `valid`, `suspect` or `invalid`, and `.reasons` says why\n" +
	"- `summary`, `cells[].summary`: `.seconds.median` and others, over the samples\n" +
	"- `cells[].verdict`: `.kind`, and the interval of the ratio to the baseline: `.typical.ratio`, `.lo`, `.hi`\n" +
	"- `findings`, `warnings`: `[].message`, in words\n" +
	"- `host`: the machine\n" +
	"- `partial`: the run was interrupted\n"

// schemaTopic describes the JSON that gorun writes: a table of the keys of each object.
func schemaTopic() topic {
	var schema struct {
		Title, Description string
		Defs               ordered `json:"$defs"`
	}
	if err := json.Unmarshal(result.JSONSchema, &schema); err != nil {
		panic(err) // impossible: the schema is embedded
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\nThe schema itself, for programs, is internal/record/result/schema.json of gorun's source.\n", schema.Description)
	text.WriteString("\nWhat most readers need of a run:\n\n" + schemaSummary)
	for _, object := range schema.Defs {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n| key | type | meaning |\n| --- | --- | --- |\n", object.name, object.Description)
		for _, key := range object.Properties {
			meaning := key.Description
			if len(key.Enum) > 0 {
				meaning += " One of: " + strings.Join(key.Enum, ", ") + "."
			}
			fmt.Fprintf(&text, "| `%s` | %s | %s |\n", key.name, key.typeName(), strings.ReplaceAll(meaning, "|", `\|`))
		}
	}
	return topic{name: "schema", title: "The JSON that gorun writes: " + schema.Title, text: text.String()}
}

// typeName returns the type of a value in words: "integer", "list of Sample", "number or null".
func (d *schemaNode) typeName() string {
	switch names := d.Type.(type) {
	case []any:
		var all []string
		for _, name := range names {
			one := *d
			one.Type = name
			all = append(all, one.typeName())
		}
		return strings.Join(all, " or ")
	case string:
		switch {
		case names == "array" && d.Items != nil:
			return "list of " + d.Items.typeName()
		case names == "object" && d.Values != nil:
			return "object of " + d.Values.typeName() + " by name"
		}
		return names
	}
	if d.Ref != "" {
		return d.Ref[strings.LastIndex(d.Ref, "/")+1:]
	}
	return "any"
}
