#include "textflag.h"

// The tile kernels of brute_amd64.go. Registers, in both:
//
//	SI reciprocals   CX blocks left   BX step   R8 rows-1   DI hits   R9 row counter
//
// Lanes: 0-3 the running value, 4-7 the addend of a row, 8-11 the minimum so far, each for a quarter of a block.
// 12 the first number, 13 step, 14 rows-1 (the bias), 15 rows (AVX-512) or scratch (AVX2, which has 16 registers).

// START512 loads 16 reciprocals as a (8 to 15 in d) and makes d = upper(step·c) and y = upper(first·c) + bias, where
// upper is bits 32 to 63: upper(n·c) = low(n·upper(c)) + upper(n·low(c)). Odd lanes hold the upper halves; the masked
// shuffle moves those of the first register down into the even lanes. The order of the lanes does not matter.
#define START512(offset, y, d) \
	VMOVDQU64 offset(SI), Z16          \
	VMOVDQU64 (offset+64)(SI), d       \
	VPMULUDQ  Z12, Z16, Z17            \
	VPMULUDQ  Z12, d, y                \
	VMOVSHDUP Z17, K1, y               \
	VPMULUDQ  Z13, Z16, Z18            \
	VPMULUDQ  Z13, d, Z19              \
	VMOVSHDUP Z18, K1, Z19             \
	VMOVSHDUP Z16, K1, d               \
	VPMULLD   Z12, d, Z17              \
	VPADDD    Z17, y, y                \
	VPADDD    Z14, y, y                \
	VPMULLD   Z13, d, d                \
	VPADDD    Z19, d, d

// START512ONE is START512 for step 1, where d is upper(c).
#define START512ONE(offset, y, d) \
	VMOVDQU64 offset(SI), Z16          \
	VMOVDQU64 (offset+64)(SI), d       \
	VPMULUDQ  Z12, Z16, Z17            \
	VPMULUDQ  Z12, d, y                \
	VMOVSHDUP Z17, K1, y               \
	VMOVSHDUP Z16, K1, d               \
	VPMULLD   Z12, d, Z17              \
	VPADDD    Z17, y, y                \
	VPADDD    Z14, y, y

// COUNT512 goes back from the last row to the first and counts the lanes below rows in each, if the minimum is.
#define COUNT512(y, d, m, row, next) \
	VPCMPUD  $1, Z15, m, K2            \
	KORTESTW K2, K2                    \
	JEQ      next                      \
	MOVQ     R8, R9                    \
row: \
	VPCMPUD  $1, Z15, y, K2            \
	KMOVW    K2, AX                    \
	POPCNTL  AX, AX                    \
	ADDL     AX, (DI)(R9*4)            \
	VPSUBD   d, y, y                   \
	DECQ     R9                        \
	JGE      row                       \
next:

// func tileLanes512(reciprocals *uint64, blocks int, first, step uint64, rows int, hits *uint32)
TEXT ·tileLanes512(SB), NOSPLIT, $0-48
	MOVQ reciprocals+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ first+16(FP), AX
	MOVQ step+24(FP), BX
	MOVQ rows+32(FP), DX
	MOVQ hits+40(FP), DI

	LEAQ         -1(DX), R8
	VPBROADCASTD AX, Z12
	VPBROADCASTD BX, Z13
	VPBROADCASTD R8, Z14
	VPBROADCASTD DX, Z15
	MOVL         $0x5555, AX
	KMOVW        AX, K1

block:
	CMPQ BX, $1
	JNE  strided
	START512ONE(0, Z0, Z4)
	START512ONE(128, Z1, Z5)
	START512ONE(256, Z2, Z6)
	START512ONE(384, Z3, Z7)
	JMP  started

strided:
	START512(0, Z0, Z4)
	START512(128, Z1, Z5)
	START512(256, Z2, Z6)
	START512(384, Z3, Z7)

started:
	VMOVDQA64 Z0, Z8
	VMOVDQA64 Z1, Z9
	VMOVDQA64 Z2, Z10
	VMOVDQA64 Z3, Z11
	MOVQ      R8, R9
	TESTQ     R9, R9
	JEQ       tested

	PCALIGN $32
row:
	VPADDD  Z4, Z0, Z0
	VPADDD  Z5, Z1, Z1
	VPADDD  Z6, Z2, Z2
	VPADDD  Z7, Z3, Z3
	VPMINUD Z0, Z8, Z8
	VPMINUD Z1, Z9, Z9
	VPMINUD Z2, Z10, Z10
	VPMINUD Z3, Z11, Z11
	DECQ    R9
	JNE     row

tested:
	VPMINUD  Z8, Z9, Z16
	VPMINUD  Z10, Z11, Z17
	VPMINUD  Z16, Z17, Z16
	VPCMPUD  $1, Z15, Z16, K2
	KORTESTW K2, K2
	JNE      count

next:
	ADDQ $512, SI
	DECQ CX
	JNE  block
	VZEROUPPER
	RET

count:
	COUNT512(Z0, Z4, Z8, row0, next0)
	COUNT512(Z1, Z5, Z9, row1, next1)
	COUNT512(Z2, Z6, Z10, row2, next2)
	COUNT512(Z3, Z7, Z11, row3, next3)
	JMP next

// START256 is START512 for 8 reciprocals: shifts and blends take the place of the masked shuffle.
#define START256(offset, y, d) \
	VMOVDQU  offset(SI), Y8            \
	VMOVDQU  (offset+32)(SI), Y9       \
	VPMULUDQ Y13, Y8, Y10              \
	VPMULUDQ Y13, Y9, Y11              \
	VPSRLQ   $32, Y10, Y10             \
	VPBLENDD $0xAA, Y11, Y10, d        \
	VPMULUDQ Y12, Y8, Y10              \
	VPMULUDQ Y12, Y9, Y11              \
	VPSRLQ   $32, Y10, Y10             \
	VPBLENDD $0xAA, Y11, Y10, y        \
	VPSRLQ   $32, Y8, Y8               \
	VPBLENDD $0xAA, Y9, Y8, Y8         \
	VPMULLD  Y13, Y8, Y10              \
	VPADDD   Y10, d, d                 \
	VPMULLD  Y12, Y8, Y10              \
	VPADDD   Y10, y, y                 \
	VPADDD   Y14, y, y

// START256ONE is START256 for step 1.
#define START256ONE(offset, y, d) \
	VMOVDQU  offset(SI), Y8            \
	VMOVDQU  (offset+32)(SI), Y9       \
	VPMULUDQ Y12, Y8, Y10              \
	VPMULUDQ Y12, Y9, Y11              \
	VPSRLQ   $32, Y10, Y10             \
	VPBLENDD $0xAA, Y11, Y10, y        \
	VPSRLQ   $32, Y8, Y8               \
	VPBLENDD $0xAA, Y9, Y8, d          \
	VPMULLD  Y12, d, Y10               \
	VPADDD   Y10, y, y                 \
	VPADDD   Y14, y, y

// COUNT256: AVX2 has no unsigned comparison; y ≤ rows-1 if and only if max(y, rows-1) = rows-1.
#define COUNT256(y, d, m, row, next) \
	VPMAXUD   Y14, m, Y15              \
	VPCMPEQD  Y14, Y15, Y15            \
	VPTEST    Y15, Y15                 \
	JEQ       next                     \
	MOVQ      R8, R9                   \
row: \
	VPMAXUD   Y14, y, Y15              \
	VPCMPEQD  Y14, Y15, Y15            \
	VMOVMSKPS Y15, AX                  \
	POPCNTL   AX, AX                   \
	ADDL      AX, (DI)(R9*4)           \
	VPSUBD    d, y, y                  \
	DECQ      R9                       \
	JGE       row                      \
next:

// func tileLanes256(reciprocals *uint64, blocks int, first, step uint64, rows int, hits *uint32)
TEXT ·tileLanes256(SB), NOSPLIT, $0-48
	MOVQ reciprocals+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ step+24(FP), BX
	MOVQ rows+32(FP), R8
	MOVQ hits+40(FP), DI

	DECQ         R8
	VMOVD        R8, X14
	VPBROADCASTD first+16(FP), Y12
	VPBROADCASTD step+24(FP), Y13
	VPBROADCASTD X14, Y14

block:
	CMPQ BX, $1
	JNE  strided
	START256ONE(0, Y0, Y4)
	START256ONE(64, Y1, Y5)
	START256ONE(128, Y2, Y6)
	START256ONE(192, Y3, Y7)
	JMP  started

strided:
	START256(0, Y0, Y4)
	START256(64, Y1, Y5)
	START256(128, Y2, Y6)
	START256(192, Y3, Y7)

started:
	VMOVDQA Y0, Y8
	VMOVDQA Y1, Y9
	VMOVDQA Y2, Y10
	VMOVDQA Y3, Y11
	MOVQ    R8, R9
	TESTQ   R9, R9
	JEQ     tested

	PCALIGN $32
row:
	VPADDD  Y4, Y0, Y0
	VPADDD  Y5, Y1, Y1
	VPADDD  Y6, Y2, Y2
	VPADDD  Y7, Y3, Y3
	VPMINUD Y0, Y8, Y8
	VPMINUD Y1, Y9, Y9
	VPMINUD Y2, Y10, Y10
	VPMINUD Y3, Y11, Y11
	DECQ    R9
	JNE     row

tested:
	VPMINUD  Y8, Y9, Y15
	VPMINUD  Y15, Y10, Y15
	VPMINUD  Y15, Y11, Y15
	VPMAXUD  Y14, Y15, Y15
	VPCMPEQD Y14, Y15, Y15
	VPTEST   Y15, Y15
	JNE      count

next:
	ADDQ $256, SI
	DECQ CX
	JNE  block
	VZEROUPPER
	RET

count:
	COUNT256(Y0, Y4, Y8, row0, next0)
	COUNT256(Y1, Y5, Y9, row1, next1)
	COUNT256(Y2, Y6, Y10, row2, next2)
	COUNT256(Y3, Y7, Y11, row3, next3)
	JMP next
