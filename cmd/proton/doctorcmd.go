package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/cmd/proton/internal/doctor"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/term"
)

const doctorLong = `doctor examines this machine: the driver, the GPUs, every libcupti and which one would be used, other profilers,
permission to sample, Python, Triton and torch; on a machine with AMD's driver, its devices and ROCm's libraries. Each problem comes
with a fix.

Exit codes: 0 if kernels can be timed, 1 if they cannot.`

func newDoctorCommand() *cobra.Command {
	var asJSON bool
	var python string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "report what is missing on this machine",
		Long:  doctorLong,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("proton doctor takes no arguments, got %q: see proton doctor --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return examine(cmd, python, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON; fields are added in later versions, never renamed")
	cmd.Flags().StringVar(&python, "python", "", "examine the Python `INTERPRETER` (default: the one that proton run would use)")
	return cmd
}

func examine(cmd *cobra.Command, python string, asJSON bool) error {
	layout, executable, err := parts()
	if err != nil {
		return err
	}
	interpreter, err := layout.FindPython(python)
	if err != nil && python != "" {
		return err
	}
	report := doctor.Examine(doctor.Machine{
		Root: settings.Root.Get(os.Getenv), Env: os.Getenv,
		Probe: layout.Probe, Library: layout.Library, Python: interpreter.Path, OtherPython: interpreter.Other, Executable: executable,
	})
	if asJSON {
		out := json.NewEncoder(cmd.OutOrStdout())
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		err = report.WriteText(cmd.OutOrStdout(), term.Width(cmd.OutOrStdout()))
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	if !report.Healthy() {
		return &exitError{code: 1}
	}
	return nil
}
