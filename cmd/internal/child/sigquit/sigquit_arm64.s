#include "textflag.h"

TEXT ·rtSigaction(SB),NOSPLIT,$0-24
	MOVD sig+0(FP), R0
	MOVD act+8(FP), R1
	MOVD old+16(FP), R2
	MOVD $8, R3 // a set of signals has 8 bytes
	MOVD $134, R8 // rt_sigaction
	SVC
	RET
