package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"gorun/internal/base/hint"
	"gorun/internal/files/output"
	"gorun/internal/publish/report"
	"gorun/internal/publish/web"
)

// reportOptions are the flags and arguments of `gorun report`.
type reportOptions struct {
	env   env
	files []string
	out   string
	serve string
	names []string
	host  bool
}

func newReport(e env) *cobra.Command {
	o := &reportOptions{env: e}
	cmd := &cobra.Command{
		Use:   "report RUN.jsonl...",
		Short: "Write runs as one HTML page: verdicts, figures, quality, how to repeat them",
		Long: "The page is one file and needs no network. Its inputs are journals that --out wrote, also of a run that was killed\n" +
			"or still goes on, and results that --format json printed. The page shows several runs next to each other.\n\n" +
			"--serve shows the page to a browser instead, and a newer one when the journal has grown: at most one in 5 seconds for\n" +
			"all browsers. At most 2% of the time is spent on it.",
		Example: "  gorun report run.jsonl -o report.html\n" +
			"  gorun report before.jsonl after.jsonl -o report.html\n" +
			"  gorun report run.jsonl --serve 127.0.0.1:0",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files = args
			return runReport(cmd.Context(), o)
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl", "json"}, cobra.ShellCompDirectiveFilterFileExt),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&o.out, "out", "o", "", "write the page to this `file`")
	flags.StringVar(&o.serve, "serve", "", "show the page at this `address`, and refresh it (127.0.0.1:0: any free port)")
	flags.StringArrayVar(&o.names, "serve-name", nil, "with --serve: also answer browsers that know this machine by this `name` (repeatable)")
	flags.BoolVar(&o.host, "host", false, "also show the host name, the boot id and the kernel's command line")
	_ = cmd.MarkFlagFilename("out", "html")
	return cmd
}

func (o *reportOptions) validate() error {
	switch {
	case o.out != "" && o.serve != "":
		return hint.Usagef("--out and --serve exclude each other")
	case len(o.names) > 0 && o.serve == "":
		return hint.Usagef("--serve-name is about --serve, which was not given")
	}
	for _, name := range o.names {
		if !web.IsName(name) {
			return hint.Flag("serve-name", name, hint.With(errors.New("not the name of a machine"), "write it without a port, as in build.lan"))
		}
	}
	for _, file := range o.files {
		if o.outputs().Same(output.Named{Path: file}, o.page()) {
			return hint.Usagef("--out %s is one of the runs, and would be overwritten", o.out)
		}
	}
	if o.serve != "" {
		if _, _, err := o.listensAt(); err != nil {
			return err
		}
	}
	if o.out == "" && o.serve == "" {
		return hint.Usage(hint.With(errors.New("report has nowhere to write to"), "give -o report.html, or --serve 127.0.0.1:0"))
	}
	return nil
}

// someFiles returns an error if there is no journal.
func (o *reportOptions) someFiles() error {
	return someJournals("report", o.files, "gorun report run.jsonl -o report.html")
}

// listensAt returns the host and the port of --serve.
func (o *reportOptions) listensAt() (host, port string, err error) {
	if host, port, err = net.SplitHostPort(o.serve); err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		err = hint.Flag("serve", o.serve, hint.With(errors.New("not a listen address"), "write HOST:PORT, as in 127.0.0.1:0"))
	}
	return cmp.Or(host, "127.0.0.1"), port, err // other machines get the page only if the address allows them to
}

func (o *reportOptions) options() report.Options {
	return report.Options{Views: views, Host: o.host}
}

func (o *reportOptions) outputs() output.Opener {
	return output.Opener{Stdout: o.env.Stdout, Stderr: o.env.Stderr}
}

// page returns the file that --out names.
func (o *reportOptions) page() output.Named { return output.Named{Flag: "out", Path: o.out} }

func runReport(ctx context.Context, o *reportOptions) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	if o.serve != "" {
		if err := o.someFiles(); err != nil {
			return err
		}
		return o.serveReport(ctx)
	}
	page, err := o.outputs().Open(ctx, o.page())
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, page.Close()) }()
	if err := o.someFiles(); err != nil {
		return err
	}
	inputs, err := report.ReadAll(ctx, o.env.Files(), o.files, views)
	if err != nil {
		return err
	}
	return page.Write(func(w io.Writer) error { return report.Write(w, inputs, o.options()) })
}

// serveReport serves the page until SIGHUP, SIGINT or SIGTERM, which are its normal end.
func (o *reportOptions) serveReport(ctx context.Context) error {
	host, port, err := o.listensAt()
	if err != nil {
		return err
	}
	served, err := report.NewServed(ctx, o.files, o.options())
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return hint.With(fmt.Errorf("--serve %s: cannot serve the report: %w", o.serve, err), "choose another address; port 0 is any that is free")
	}
	fmt.Fprintf(o.env.Stderr, "gorun: the report is at http://%s/\n", listener.Addr())
	names := append(o.names, host)
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	return served.Serve(ctx, listener, names)
}
