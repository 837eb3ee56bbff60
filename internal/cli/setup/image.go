package setup

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/kube"
)

// Image is the command for the image of this program.
func (a commands) imageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "image save FILE",
		Short: "Write the container image of this program",
		Long: "Write an OCI archive of an image that has only this program, for the nodes of a cluster\n" +
			"without access to a registry. It prints the image's name, which is the default of --image.\n\n" +
			"  ctr -n k8s.io images import FILE       on a node with containerd\n" +
			"  kind load image-archive FILE           for a cluster of kind\n" +
			"  k3s ctr images import FILE             for k3s",
		Example: "  tare image save tare.tar",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] != "save" {
				return command.Usage(errors.New("want tare image save FILE"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.saveImage(args[1]) },
	}
}

// saveImage writes the image's archive and prints its name.
func (a commands) saveImage(path string) error {
	var name string
	err := command.WriteFile(path, func(to io.Writer) (err error) {
		name, err = kube.SaveImage(to)
		return err
	})
	if err != nil {
		return command.Environment(fmt.Errorf("save the image in %s: %w", path, err))
	}
	_, err = fmt.Fprintln(a.Stdout, name)
	return err
}
