#include "go_asm.h"
#include "textflag.h"

// Called by the kernel as a C function: the siginfo is in SI. Its head is written to the pipe as it is;
// the kernel restores every register afterwards.
TEXT handler<>(SB),NOSPLIT|NOFRAME,$0
	MOVQ ·handlerPipe(SB), DI
	MOVQ $const_recordSize, DX
	MOVQ $1, AX // write
	SYSCALL
	RET

// Where handler returns to.
TEXT restorer<>(SB),NOSPLIT|NOFRAME,$0
	MOVQ $15, AX // rt_sigreturn
	SYSCALL
	INT $3

TEXT ·handlerAddresses(SB),NOSPLIT,$0-16
	LEAQ handler<>(SB), AX
	MOVQ AX, handler+0(FP)
	LEAQ restorer<>(SB), AX
	MOVQ AX, restorer+8(FP)
	RET

// The sizes and numbers are those of rt_sigprocmask: 0 blocks, 2 sets, a set has 8 bytes.
TEXT ·flipMask(SB),NOSPLIT,$0-16
	MOVQ $0, DI
	MOVQ set+0(FP), SI
	MOVQ old+8(FP), DX
	MOVQ $8, R10
	MOVQ $14, AX
	SYSCALL
	MOVQ $2, DI
	MOVQ old+8(FP), SI
	MOVQ $0, DX
	MOVQ $8, R10
	MOVQ $14, AX
	SYSCALL
	RET
