//go:build race

package besom

const raceDetector = true
