package besom

// #include "shim.h"
import "C"

import (
	"errors"
	"syscall"
)

// A Status is the cause of a failure. It is an error, so errors.Is(err, besom.ErrFull) tells it.
type Status int

// The statuses that calls return; besom.h says which call returns which.
const (
	ErrInvalid      = Status(C.BESOM_INVALID)
	ErrUnknownKind  = Status(C.BESOM_UNKNOWN_KIND)
	ErrBadOption    = Status(C.BESOM_BAD_OPTION)
	ErrUnsupported  = Status(C.BESOM_UNSUPPORTED)
	ErrNoMemory     = Status(C.BESOM_NO_MEMORY)
	ErrFull         = Status(C.BESOM_FULL)
	ErrNotFound     = Status(C.BESOM_NOT_FOUND)
	ErrIncompatible = Status(C.BESOM_INCOMPATIBLE)
	ErrCorrupt      = Status(C.BESOM_CORRUPT)
	ErrNewerVersion = Status(C.BESOM_NEWER_VERSION)
	ErrIO           = Status(C.BESOM_IO)
	ErrReadOnly     = Status(C.BESOM_READ_ONLY)
	ErrCancelled    = Status(C.BESOM_CANCELLED)
	ErrNeedsStore   = Status(C.BESOM_NEEDS_STORE)
	ErrAmbiguous    = Status(C.BESOM_AMBIGUOUS)
	ErrIsMember     = Status(C.BESOM_IS_MEMBER)
	ErrBusy         = Status(C.BESOM_BUSY)
	ErrReserveFull  = Status(C.BESOM_RESERVE_FULL)
	ErrDiskFull     = Status(C.BESOM_DISK_FULL)
)

// ErrClosed is what every call on a closed filter returns.
var ErrClosed = errors.New("besom: the filter is closed")

// ErrSignature is what a signed list that is not to be trusted returns.
var ErrSignature = errors.New("besom: the signature is refused")

func (s Status) Error() string {
	return "besom: " + C.GoString(C.besom_strerror(C.besom_status(s)))
}

// An Error says which call failed, and why.
type Error struct {
	Op     string // "add", "open" ...
	Status Status
	Detail string // one sentence more, or empty
	Err    error  // the cause: of the operating system, or of a key source or writer
}

func (e *Error) Error() string {
	text := "besom: " + e.Op + ": " + C.GoString(C.besom_strerror(C.besom_status(e.Status)))
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is compares with the status.
func (e *Error) Is(target error) bool { return target == e.Status }

// failure is the error of a call on f. EVICTED is a success.
func (f *Filter) failure(op string, status C.besom_status) error {
	if status == C.BESOM_OK || status == C.BESOM_EVICTED {
		return nil
	}
	if f.c == nil {
		return ErrClosed
	}
	return &Error{Op: op, Status: Status(status)}
}

func failed(op string, status C.besom_status, errno C.int) error {
	if status == C.BESOM_OK {
		return nil
	}
	e := &Error{Op: op, Status: Status(status)}
	if errno != 0 && (e.Status == ErrIO || e.Status == ErrDiskFull) {
		e.Err = syscall.Errno(errno)
	}
	return e
}
