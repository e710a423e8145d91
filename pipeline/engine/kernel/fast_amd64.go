package kernel

import "github.com/klauspost/cpuid/v2"

//go:generate go run doubletake/cmd/asm pipeline/engine

var fast = cpuid.CPU.Supports(cpuid.SHA, cpuid.SSSE3)
