#include "textflag.h"

// func spawn(flags, stack, entry uintptr, c *child) (pid, errno uintptr)
//
// entry is called as Go calls it, not by the name it has here: the wrapper
// that the name stands for enters the race detector, where there is one.
TEXT ·spawn(SB),NOSPLIT|NOFRAME,$0-48
	MOVD	flags+0(FP), R0
	MOVD	stack+8(FP), R1
	MOVD	entry+16(FP), R10
	MOVD	c+24(FP), R9
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8	// clone
	SVC
	CBZ	R0, child
	TBNZ	$63, R0, failed
	MOVD	R0, pid+32(FP)
	MOVD	ZR, errno+40(FP)
	RET
failed:
	NEG	R0, R0
	MOVD	ZR, pid+32(FP)
	MOVD	R0, errno+40(FP)
	RET
child:
	MOVD	R9, R0
	CALL	(R10)
	BRK

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The child goes on first, on the same stack. Our return address is in a
// register here.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-24
	MOVD	flags+0(FP), R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8	// clone
	SVC
	TBNZ	$63, R0, failed
	MOVD	R0, pid+8(FP)
	MOVD	ZR, errno+16(FP)
	RET
failed:
	NEG	R0, R0
	MOVD	ZR, pid+8(FP)
	MOVD	R0, errno+16(FP)
	RET
