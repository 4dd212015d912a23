package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"gorun/internal/matrix"
)

// What a matrix is unless its flags or its file say otherwise.
const (
	matrixBudget    = time.Minute
	matrixPrecision = 0.02
	matrixMargin    = 0.02
	matrixAlpha     = 0.05
)

// share is a part of 1, written as 2% or as 0.02.
type share float64

func (s *share) Set(text string) error {
	v, err := matrix.ParseFraction(text)
	*s = share(v)
	return err
}

func (s *share) String() string { return strconv.FormatFloat(100*float64(*s), 'g', 6, 64) + "%" }
func (s *share) Type() string   { return "share" }

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
