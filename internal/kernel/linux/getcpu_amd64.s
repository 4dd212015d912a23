#include "textflag.h"

// The assembler does not know RDPID and LSL, so they are written as bytes.

// func rdpid() uint32
TEXT ·rdpid(SB), NOSPLIT, $0-4
	BYTE $0xf3; BYTE $0x0f; BYTE $0xc7; BYTE $0xf8 // RDPID RAX
	MOVL AX, ret+0(FP)
	RET

// func segmentLimit(selector uint32) (limit uint32, ok bool)
TEXT ·segmentLimit(SB), NOSPLIT, $0-13
	MOVL selector+0(FP), CX
	XORL AX, AX
	BYTE $0x0f; BYTE $0x03; BYTE $0xc1 // LSL EAX, ECX
	SETEQ ok+12(FP)
	MOVL AX, limit+8(FP)
	RET

// func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL subleaf+4(FP), CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET
