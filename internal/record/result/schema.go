package result

import _ "embed" // the schema

// JSONSchema describes the JSON of Schema key by key, as --format json and each line of a journal have it. It is a JSON
// Schema (draft 2020-12).
//
//go:embed schema.json
var JSONSchema []byte
