#include "textflag.h"

TEXT ·rtSigaction(SB),NOSPLIT,$0-24
	MOVQ sig+0(FP), DI
	MOVQ act+8(FP), SI
	MOVQ old+16(FP), DX
	MOVQ $8, R10 // a set of signals has 8 bytes
	MOVQ $13, AX // rt_sigaction
	SYSCALL
	RET
