#include "go_asm.h"
#include "textflag.h"

// Called by the kernel as a C function: the siginfo is in R1. Its head is written to the pipe as it is;
// the kernel restores every register afterwards.
TEXT handler<>(SB),NOSPLIT|NOFRAME,$0
	MOVD ·handlerPipe(SB), R0
	MOVD $const_recordSize, R2
	MOVD $64, R8 // write
	SVC
	RET

// Where handler returns to.
TEXT restorer<>(SB),NOSPLIT|NOFRAME,$0
	MOVD $139, R8 // rt_sigreturn
	SVC
	BRK

TEXT ·handlerAddresses(SB),NOSPLIT,$0-16
	MOVD $handler<>(SB), R0
	MOVD R0, handler+0(FP)
	MOVD $restorer<>(SB), R0
	MOVD R0, restorer+8(FP)
	RET
