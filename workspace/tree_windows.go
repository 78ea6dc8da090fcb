package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

func prepare() {}

func widen(*os.File) {}

func startProcess(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	return os.StartProcess(path, argv, attr)
}

func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

func signalName(*os.ProcessState) string { return "" }

func executable(path string) (string, bool) {
	if filepath.Ext(path) == "" {
		path += ".exe"
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(path), ".exe")
}

// A tree is a job object, which holds whatever its members start. What the
// first process starts before it is in the job is not found.
type tree struct {
	job windows.Handle
	pid int
}

func newTree() *tree { return &tree{} }

func (t *tree) adopt(p *os.Process) error {
	t.pid = p.Pid
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		p.Kill()
		return os.NewSyscallError("CreateJobObject", err)
	}
	t.job = job
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		p.Kill()
		return os.NewSyscallError("SetInformationJobObject", err)
	}
	handle, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		return nil // it has exited
	}
	defer windows.CloseHandle(handle)
	if err := windows.AssignProcessToJobObject(job, handle); err != nil && err != windows.ERROR_ACCESS_DENIED {
		p.Kill()
		return os.NewSyscallError("AssignProcessToJobObject", err)
	}
	return nil
}

func (t *tree) forget() {
	if t.job != 0 {
		windows.CloseHandle(t.job)
		t.job = 0
	}
}

func (t *tree) reap() {}

// finish ends what is left. Windows has no gentler way that works for
// programs without a window.
func (t *tree) finish(time.Duration) []string {
	t.end()
	return nil
}

func (t *tree) end() { windows.TerminateJobObject(t.job, 1) }

// endAll has nothing to do: a job ends with the program that holds it.
func endAll() {}
