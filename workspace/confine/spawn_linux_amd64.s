#include "textflag.h"

// func spawn(flags, stack, entry uintptr, c *child) (pid, errno uintptr)
//
// entry is called as Go calls it, not by the name it has here: the wrapper
// that the name stands for enters the race detector, where there is one.
TEXT ·spawn(SB),NOSPLIT|NOFRAME,$0-48
	MOVQ	flags+0(FP), DI
	MOVQ	stack+8(FP), SI
	MOVQ	entry+16(FP), R13
	MOVQ	c+24(FP), R12
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVL	$56, AX	// clone
	SYSCALL
	TESTQ	AX, AX
	JZ	child
	JS	failed
	MOVQ	AX, pid+32(FP)
	MOVQ	$0, errno+40(FP)
	RET
failed:
	NEGQ	AX
	MOVQ	$0, pid+32(FP)
	MOVQ	AX, errno+40(FP)
	RET
child:
	XORPS	X15, X15
	MOVQ	R12, AX
	CALL	R13
	INT	$3

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The child goes on first, on the same stack, and its next call writes over
// our return address, which therefore waits in a register.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-24
	MOVQ	flags+0(FP), DI
	XORL	SI, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVL	$56, AX	// clone
	POPQ	R12
	SYSCALL
	PUSHQ	R12
	TESTQ	AX, AX
	JS	failed
	MOVQ	AX, pid+8(FP)
	MOVQ	$0, errno+16(FP)
	RET
failed:
	NEGQ	AX
	MOVQ	$0, pid+8(FP)
	MOVQ	AX, errno+16(FP)
	RET
