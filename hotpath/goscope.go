package hotpath

// #include "scope.h"
import "C"

import (
	"errors"
	"unsafe"
)

// Token identifies a scope that EnterScope has opened, for ExitScope.
type Token C.struct_hp_token

// EnterScope opens a scope on the calling thread; the goroutine must stay on it until the scope is closed.
func EnterScope(name string) Token {
	return Token(C.hp_scope_open((*C.char)(unsafe.Pointer(unsafe.StringData(name))), C.size_t(len(name))))
}

// ExitScope closes the scope that the token names. Outside of sessions it does nothing.
func ExitScope(t Token) {
	if t.node != 0 {
		C.hp_scope_exit(C.struct_hp_token(t))
	}
}

// ErrMetricType is returned when a metric changes between integer and floating point on one call path.
var ErrMetricType = errors.New("the metric was of the other number type here before; use one type for one metric")

// AddInt adds to a metric of the calling thread's call path.
func AddInt(metric string, v int64) error {
	return status(C.hp_metric_int(C.uint32_t(Intern(metric)), C.int64_t(v)))
}

// AddFloat adds to a metric of the calling thread's call path.
func AddFloat(metric string, v float64) error {
	return status(C.hp_metric_double(C.uint32_t(Intern(metric)), C.double(v)))
}

func status(rc C.int) error {
	if rc == C.HP_TYPE_CHANGED {
		return ErrMetricType
	}
	return nil
}
