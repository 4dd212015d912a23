// Package manifest checks the manifest that `gorun fleet template kubernetes` prints by Kubernetes' own types. It is a module of
// its own, so that gorun does not depend on them.
package manifest

import (
	"os"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

const template = "../../../internal/work/fleet/templates/kubernetes.yaml"

// read decodes a manifest as the API server does with fieldValidation=Strict: unknown and repeated fields are errors.
func read(text string) (job batch.Job, err error) {
	return job, yaml.UnmarshalStrict([]byte(text), &job)
}

func TestManifest(t *testing.T) {
	bytes, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	text := string(bytes)
	job, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	if job.APIVersion != "batch/v1" || job.Kind != "Job" {
		t.Errorf("it is a %s of %s", job.Kind, job.APIVersion)
	}
	for what, change := range map[string][2]string{
		"unknown field":         {"parallelism:", "parallelisms:"},
		"unknown nested field":  {"topologyKey:", "topologyKeys:"},
		"repeated field":        {"  parallelism: 2", "  completions: 2"},
		"value of another type": {"completions: 2", "completions: two"},
	} {
		wrong := strings.Replace(text, change[0], change[1], 1)
		if wrong == text {
			t.Errorf("%s: the manifest has no %q", what, change[0])
		}
		if _, err := read(wrong); err == nil {
			t.Errorf("%s: it is accepted", what)
		} else {
			t.Logf("%s: %v", what, err)
		}
	}
}
