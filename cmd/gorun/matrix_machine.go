package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/measure"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// place has every cell planned, so that what cannot be is told before anything runs, and notes its CPUs.
func (o *matrixOptions) place(run *result.Run) error {
	root, err := openRoot(o.env, o.sysroot)
	if err != nil {
		return err
	}
	t, err := readMachine(root)
	if err != nil {
		return err
	}
	same := map[string]string{} // a cell's name by what it comes to here
	for i := range run.Cells {
		cell := &run.Cells[i]
		args := slices.Clone(cell.Command[1:])
		if o.sysroot != "" {
			args = append([]string{"--sysroot", o.sysroot}, args...)
		}
		plan, err := o.experiment.plan(o.env, args)
		if err != nil {
			return usageError{hint.With(fmt.Errorf("cell %s: %w", cell.Name, err), hint.Of(err))}
		}
		if rows := max(len(plan.ContendRows), len(plan.NumaRows)); rows > 1 {
			return usageError{hint.With(fmt.Errorf("cell %s has %d rows, and a matrix compares one figure a cell", cell.Name,
				rows),
				o.experiment.oneRow)}
		}
		if cell.CPUs, err = o.lists(t, cell.Flags); err != nil {
			return usageError{fmt.Errorf("cell %s: %w", cell.Name, err)}
		}
		if plan.Lines != nil && plan.CPUs != "" { // a placement's CPUs are no flag of the cell
			cpus, err := cpuset.Parse(plan.CPUs)
			if err != nil {
				return err
			}
			cell.CPUs["cpus"] = matrix.DescribeCPUs(t, cpus.List())
		}
		content, err := json.Marshal(plan.Spec)
		if err != nil {
			return err
		}
		if twin, found := same[string(content)]; found {
			run.Warnings = append(run.Warnings, result.Warning{
				Code: "same-cells", Message: fmt.Sprintf("on this machine the cells %s and %s are the same", twin, cell.Name),
			})
		}
		same[string(content)] = cell.Name
		cell.Lines = plan.Lines
	}
	return nil
}

// lists are a cell's CPU lists on a machine, the run's CPUs among them.
func (o *matrixOptions) lists(t *topology.Machine, flags map[string]string) (map[string]result.CPUs, error) {
	within := t.Allowed()
	if flags["ignore-affinity"] == "true" {
		within = t.Online()
	}
	lists := map[string]result.CPUs{}
	texts := map[string]string{"cpus": "all"}
	for _, flag := range o.flags {
		if text, given := flags[flag.Name]; given && flag.List && text != "" {
			texts[flag.Name] = text
		}
	}
	for flag, text := range texts {
		ids, err := t.Select(text, within)
		if err != nil {
			return nil, fmt.Errorf("--%s %s: %w", flag, text, err)
		}
		lists[flag] = matrix.DescribeCPUs(t, ids)
	}
	return lists, nil
}

// fingerprint completes the run with where it is measured and by what.
func (o *matrixOptions) fingerprint(run *result.Run) error {
	t, err := readMachine(o.env.root)
	if err != nil {
		return err
	}
	if run.Host, err = measure.ReadHost(o.env.root, t, o.env.environ()); err != nil {
		return err
	}
	run.Tool.SHA256, err = hashFile(o.env.self.Path)
	return err
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}
