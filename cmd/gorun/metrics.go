package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
	"gorun/internal/files/output"
)

// watching are the files with which a Prometheus server and Grafana show gorun's metrics: an example of a server's configuration,
// recording rules and alerts, and a dashboard.
//
//go:embed prometheus/prometheus.yml prometheus/rules.yml prometheus/grafana-dashboard.json
var watching embed.FS

func newMetrics(e env) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "metrics --write DIR",
		Short: "Write what Prometheus and Grafana need to watch runs",
		Long: "The files are a configuration that scrapes runs, recording rules with alerts for runs that stall, are disturbed,\n" +
			"throttled or over their budget, and a dashboard for Grafana. A run serves its metrics if --metrics-listen or a\n" +
			"similar flag is given.",
		Example: "  gorun metrics --write monitoring && prometheus --config.file=monitoring/prometheus.yml\n" +
			"  gorun primes --duration 10m --metrics-listen 127.0.0.1:9464",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("write") {
				return hint.Usage(hint.With(errors.New("metrics has nowhere to write to"),
					"give --write DIR; gorun help metrics lists the metrics"))
			}
			return writeMetrics(cmd.Context(), e, output.Named{Flag: "write", Path: dir})
		},
	}
	cmd.Flags().StringVar(&dir, "write", "", "write the files into this `directory`, which is made if there is none")
	_ = cmd.MarkFlagDirname("write")
	return cmd
}

func writeMetrics(ctx context.Context, e env, dir output.Named) error {
	entries, err := watching.ReadDir("prometheus")
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = watching.ReadFile("prometheus/" + entry.Name()); err != nil {
			return err
		}
	}
	if err := refuseOthers(ctx, dir, files); err != nil {
		return err
	}
	if err := writeFiles(ctx, e, dir, files); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, err := fmt.Fprintln(e.Stdout, hint.Plain(filepath.Join(dir.Path, name), "")); err != nil {
			return err
		}
	}
	return nil
}

// refuseOthers refuses a directory that has a file with one of these names and another content: a server may be using it.
func refuseOthers(ctx context.Context, dir output.Named, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir.Path, name)
		text, err := input.Opener{}.ReadFile(ctx, path, input.List)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // writing has the error
		case err != nil:
			return hint.Usagef("%s: %w", dir, err)
		case !bytes.Equal(text, files[name]):
			return hint.Usage(hint.With(fmt.Errorf("%s: %s exists, with another content", dir, path),
				"name another directory, or move the file away"))
		}
	}
	return nil
}
