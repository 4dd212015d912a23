package result

import _ "embed" // the schema

// JSONSchema describes the JSON of Schema, key by key: what --format json writes, and each line of a journal. It is a
// JSON Schema (draft 2020-12).
//
//go:embed schema.json
var JSONSchema []byte
