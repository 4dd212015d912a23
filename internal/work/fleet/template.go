package fleet

import (
	"embed"

	"gorun/internal/base/catalog"
)

// Template is a file by which another program visits many machines. It works as it is, with the paths that it names.
type Template struct {
	Name, Usage string
	file        string
}

// Entry is a row of the table of values of an argument.
func (t Template) Entry() (name, usage string) { return t.Name, t.Usage }

// Templates are the templates. To add one, add a row and its file.
var Templates = [...]Template{
	{"slurm", "an array job: one task for each node, alone on it", "slurm.sh"},
	{"slurm-healthcheck", "a HealthCheckProgram of Slurm, for nodes that are idle", "slurm-healthcheck.sh"},
	{"kubernetes", "a Job: one pod on each node", "kubernetes.yaml"},
	{"ssh", "a loop over hosts that copies gorun and collects the visits", "ssh.sh"},
}

//go:embed templates
var templates embed.FS

// FindTemplate returns the text of a template.
func FindTemplate(name string) (string, error) {
	t, err := catalog.Find(Templates[:], "template", name)
	if err != nil {
		return "", err
	}
	text, err := templates.ReadFile("templates/" + t.file)
	return string(text), err
}
