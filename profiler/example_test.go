package profiler_test

import (
	"fmt"
	"log"

	_ "github.com/goproton/goproton/cupti"
	"github.com/goproton/goproton/profiler"
)

// launch stands for code that launches kernels.
func launch() error { return nil }

func Example() {
	session, err := profiler.Start("train", profiler.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for range 10 {
		if err := step(); err != nil {
			log.Print(err)
		}
	}
	files, err := session.Finalize() // waits for the GPU
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("see it with: proton viewer -m time/ms", files[0])
}

func step() error {
	defer profiler.Scope("step")()
	if err := profiler.Add[int64]("samples", 64); err != nil {
		return err
	}
	return launch()
}

// A part of a program can be left out of the profile.
func ExampleSession_Deactivate() {
	session, err := profiler.Start("train", profiler.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Finalize()
	if err := session.Deactivate(); err != nil {
		log.Fatal(err)
	}
	// … load a checkpoint …
	if err := session.Activate(); err != nil {
		log.Fatal(err)
	}
}
