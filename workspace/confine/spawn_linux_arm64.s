#include "textflag.h"

// func spawn(flags, stack uintptr, c *child) (pid, errno uintptr)
TEXT ·spawn(SB),NOSPLIT|NOFRAME,$0-40
	MOVD	flags+0(FP), R0
	MOVD	stack+8(FP), R1
	MOVD	c+16(FP), R9
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8	// clone
	SVC
	CBZ	R0, child
	TBNZ	$63, R0, failed
	MOVD	R0, pid+24(FP)
	MOVD	ZR, errno+32(FP)
	RET
failed:
	NEG	R0, R0
	MOVD	ZR, pid+24(FP)
	MOVD	R0, errno+32(FP)
	RET
child:
	MOVD	R9, 8(RSP)
	CALL	·live(SB)
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
