package main

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/goproton/goproton/cmd/proton/internal/agent"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/internal/version"
)

func newMCPCommand() *cobra.Command {
	readOnly := false
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "serve these commands to agents, by the Model Context Protocol",
		Long: `mcp serves commands of proton as tools to a program that uses a language model, by the Model Context Protocol over standard
input and output: explain, view, source, line, diff, gate, and tools that run programs: run, reproduce, candidate,
interpret.

Tools read and write files below the folder in which mcp was started, and no others. A program that a tool runs may do
what any program may: --read-only leaves these tools out. An answer has at most 24 kB; longer output is written into the
folder proton-answers, and the answer names the file.`,
		Example: `  proton mcp
  claude mcp add proton -- proton mcp
  {"mcpServers": {"proton": {"command": "proton", "args": ["mcp"]}}}`,
		Args: between(0, 0, "give no arguments: proton mcp serves the current folder; see proton mcp --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, self, err := parts()
			if err != nil {
				return err
			}
			s, err := agent.New(agent.Options{Program: self, Folder: ".", Version: version.Text(), Runs: !readOnly})
			if err != nil {
				return err
			}
			if term.IsTerminal(cmd.OutOrStdout()) {
				tell(cmd.ErrOrStderr(), "this speaks the Model Context Protocol to a program that starts it; end it with Ctrl-C")
			}
			if err := s.Run(cmd.Context(), &mcp.StdioTransport{}); err != nil {
				return fmt.Errorf("serve the Model Context Protocol: %w; an agent starts this command and speaks it on standard input", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "leave out the tools that run programs: run, reproduce, candidate, interpret")
	return cmd
}
