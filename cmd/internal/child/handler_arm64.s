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

// The sizes and numbers are those of rt_sigprocmask: 0 blocks, 2 sets, a set has 8 bytes.
TEXT ·flipMask(SB),NOSPLIT,$0-16
	MOVD $0, R0
	MOVD set+0(FP), R1
	MOVD old+8(FP), R2
	MOVD $8, R3
	MOVD $135, R8
	SVC
	MOVD $2, R0
	MOVD old+8(FP), R1
	MOVD $0, R2
	MOVD $8, R3
	MOVD $135, R8
	SVC
	RET
