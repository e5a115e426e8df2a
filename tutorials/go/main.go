// Command go is a Go program that profiles itself: scopes around launches, from several goroutines.
//
//	go run ./tutorials/go          writes go.hatchet
package main

import (
	"fmt"
	"os"
	"sync"

	_ "github.com/goproton/goproton/cupti"
	"github.com/goproton/goproton/profiler"
)

const (
	numbers = 1 << 22
	rounds  = 50
	workers = 3
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tutorial:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	session, err := profiler.Start("go", profiler.Options{})
	if err != nil {
		return err
	}
	defer func() {
		files, finalizeErr := session.Finalize()
		if err == nil {
			err = finalizeErr
		}
		for _, problem := range profiler.Problems() {
			fmt.Fprintln(os.Stderr, "tutorial:", problem)
		}
		fmt.Println("profile:", files)
	}()

	device, err := openGPU()
	if err != nil {
		return err
	}
	if err := oneGoroutine(device); err != nil {
		return err
	}
	return manyGoroutines(device)
}

// oneGoroutine runs y = a·x + y repeatedly: scopes nest, and have metrics.
func oneGoroutine(device *Device) error {
	defer profiler.Scope("one goroutine")()
	x, y, err := vectors(device)
	if err != nil {
		return err
	}
	for range rounds {
		if err := step(x, y); err != nil {
			return err
		}
	}
	return expect(y, 2+rounds)
}

// step is one kernel that reads two vectors and writes one.
func step(x, y Vector) error {
	defer profiler.Scope("saxpy")()
	if err := profiler.Add[int64]("bytes", 3*4*numbers); err != nil {
		return err
	}
	if err := profiler.Add("flops32", 2.0*numbers); err != nil {
		return err
	}
	return y.AddScaled(1, x)
}

// manyGoroutines opens a scope in each worker: a scope belongs to the goroutine that opened it.
func manyGoroutines(device *Device) error {
	var wait sync.WaitGroup
	failures := make([]error, workers)
	for i := range workers {
		wait.Go(func() {
			defer profiler.Scope(fmt.Sprintf("worker %d", i))()
			failures[i] = work(device, rounds*(i+1))
		})
	}
	wait.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

func work(device *Device, times int) error {
	x, y, err := vectors(device)
	if err != nil {
		return err
	}
	for range times {
		if err := step(x, y); err != nil {
			return err
		}
	}
	return expect(y, 2+float32(times))
}

// vectors returns one vector of ones and one of twos.
func vectors(device *Device) (x, y Vector, err error) {
	defer profiler.Scope("vectors")()
	if x, err = device.NewVector(numbers, 1); err != nil {
		return x, y, err
	}
	y, err = device.NewVector(numbers, 2)
	return x, y, err
}

func expect(v Vector, want float32) error {
	got, err := v.Last()
	if err == nil && got != want {
		err = fmt.Errorf("check the result: the last number is %g, not %g", got, want)
	}
	return err
}
