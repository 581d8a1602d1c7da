#include "textflag.h"

// Called by the kernel as a C function: the siginfo is in R1. It is written to the pipe as it is; the
// kernel restores every register afterwards.
TEXT handler<>(SB),NOSPLIT|NOFRAME,$0
	MOVD ·handlerPipe(SB), R0
	MOVD $32, R2
	MOVD $64, R8 // write
	SVC
	RET

// Where handler returns to.
TEXT restorer<>(SB),NOSPLIT|NOFRAME,$0
	MOVD $139, R8 // rt_sigreturn
	SVC
	BRK

TEXT ·handlerAddress(SB),NOSPLIT,$0-8
	MOVD $handler<>(SB), R0
	MOVD R0, ret+0(FP)
	RET

TEXT ·restorerAddress(SB),NOSPLIT,$0-8
	MOVD $restorer<>(SB), R0
	MOVD R0, ret+0(FP)
	RET
