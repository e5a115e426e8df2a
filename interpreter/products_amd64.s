#include "textflag.h"

// Two rows get, in columns of four at a time, the products of four numbers each with four rows of y, one after the other, each rounded.

#define ROW(y, a, b) \
	MOVUPS (y)(DX*1), X10 \
	MOVAPS X10, X11       \
	MULPS  a, X10         \
	MULPS  b, X11         \
	ADDPS  X10, X8        \
	ADDPS  X11, X9

#define NUMBER(at, x) \
	MOVSS  at, x     \
	SHUFPS $0, x, x

// func addProducts(p, q, y, a, b *float32, n, columns int)
TEXT ·addProducts(SB), NOSPLIT, $0-56
	MOVQ p+0(FP), DI
	MOVQ q+8(FP), SI
	MOVQ y+16(FP), R8
	MOVQ a+24(FP), AX
	MOVQ b+32(FP), BX
	MOVQ n+40(FP), R12
	MOVQ columns+48(FP), CX
	SHLQ $2, R12
	SHLQ $2, CX
	LEAQ (R8)(R12*1), R9
	LEAQ (R9)(R12*1), R10
	LEAQ (R10)(R12*1), R11
	NUMBER(0(AX), X0)
	NUMBER(4(AX), X1)
	NUMBER(8(AX), X2)
	NUMBER(12(AX), X3)
	NUMBER(0(BX), X4)
	NUMBER(4(BX), X5)
	NUMBER(8(BX), X6)
	NUMBER(12(BX), X7)
	XORQ DX, DX

columns:
	CMPQ   DX, CX
	JGE    done
	MOVUPS (DI)(DX*1), X8
	MOVUPS (SI)(DX*1), X9
	ROW(R8, X0, X4)
	ROW(R9, X1, X5)
	ROW(R10, X2, X6)
	ROW(R11, X3, X7)
	MOVUPS X8, (DI)(DX*1)
	MOVUPS X9, (SI)(DX*1)
	ADDQ   $16, DX
	JMP    columns

done:
	RET
