#include "textflag.h"

// Called by the kernel as a C function: the siginfo is in SI. It is written to the pipe as it is; the
// kernel restores every register afterwards.
TEXT handler<>(SB),NOSPLIT|NOFRAME,$0
	MOVQ ·handlerPipe(SB), DI
	MOVQ $32, DX
	MOVQ $1, AX // write
	SYSCALL
	RET

// Where handler returns to.
TEXT restorer<>(SB),NOSPLIT|NOFRAME,$0
	MOVQ $15, AX // rt_sigreturn
	SYSCALL
	INT $3

TEXT ·handlerAddress(SB),NOSPLIT,$0-8
	LEAQ handler<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

TEXT ·restorerAddress(SB),NOSPLIT,$0-8
	LEAQ restorer<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
