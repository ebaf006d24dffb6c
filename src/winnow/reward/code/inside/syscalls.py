"""The system calls a candidate may make, and the filter that enforces it.

An allow-list, since what a kernel learns next year should be refused as well. It holds what an interpreter
needs for computing, files, processes, threads and pipes of its own; sockets (other than an unnamed pair),
mounts, namespaces, tracing, keys, other processes' memory, shared-memory segments and the kernel's
programmable parts are absent. A refused call fails with EPERM, so that programs see an ordinary `OSError`.

Numbers are from the kernel's ``asm/unistd_64.h`` and ``asm-generic/unistd.h``; filters as in seccomp(2).
"""

from __future__ import annotations

import errno
import platform
import struct

# name : number on x86_64 : number on aarch64
_TABLE = """
read:0:63 write:1:64 open:2:- close:3:57 stat:4:- fstat:5:80 lstat:6:- poll:7:- lseek:8:62 mmap:9:222
mprotect:10:226 munmap:11:215 brk:12:214 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 ioctl:16:29
pread64:17:67 pwrite64:18:68 readv:19:65 writev:20:66 access:21:- pipe:22:- select:23:- sched_yield:24:124
mremap:25:216 msync:26:227 mincore:27:232 madvise:28:233 dup:32:23 dup2:33:- pause:34:- nanosleep:35:101
getitimer:36:102 alarm:37:- setitimer:38:103 getpid:39:172 sendfile:40:71 sendto:44:206 recvfrom:45:207
sendmsg:46:211 recvmsg:47:212 shutdown:48:210 getsockname:51:204 getpeername:52:205 getsockopt:55:209 fork:57:-
vfork:58:- execve:59:221 exit:60:93 wait4:61:260 kill:62:129 uname:63:160 fcntl:72:25 flock:73:32 fsync:74:82
fdatasync:75:83 truncate:76:45 ftruncate:77:46 getdents:78:- getcwd:79:17 chdir:80:49 fchdir:81:50 rename:82:-
mkdir:83:- rmdir:84:- creat:85:- link:86:- unlink:87:- symlink:88:- readlink:89:- chmod:90:- fchmod:91:52
umask:95:166 gettimeofday:96:169 getrlimit:97:163 getrusage:98:165 sysinfo:99:179 times:100:153 getuid:102:174
getgid:104:176 geteuid:107:175 getegid:108:177 setpgid:109:154 getppid:110:173 getpgrp:111:- setsid:112:157
getpgid:121:155 getsid:124:156 getgroups:115:158 getresuid:118:148 getresgid:120:150 rt_sigpending:127:136
rt_sigtimedwait:128:137 rt_sigsuspend:130:133 sigaltstack:131:132 utime:132:- statfs:137:43 fstatfs:138:44
getpriority:140:141 sched_getparam:143:121 sched_getscheduler:145:120 sched_get_priority_max:146:125
sched_get_priority_min:147:126 sched_getaffinity:204:123 prctl:157:167 arch_prctl:158:- setrlimit:160:164
gettid:186:178 tkill:200:130 tgkill:234:131 time:201:- futex:202:98 getdents64:217:61 set_tid_address:218:96
fadvise64:221:223 timer_create:222:107 timer_settime:223:110 timer_gettime:224:108 timer_getoverrun:225:109
timer_delete:226:111 clock_gettime:228:113 clock_getres:229:114 clock_nanosleep:230:115 exit_group:231:94
epoll_wait:232:- epoll_ctl:233:21 epoll_create:213:- epoll_create1:291:20 epoll_pwait:281:22 utimes:235:-
waitid:247:95 openat:257:56 mkdirat:258:34 newfstatat:262:79 unlinkat:263:35 renameat:264:38 renameat2:316:276
linkat:265:37 symlinkat:266:36 readlinkat:267:78 fchmodat:268:53 faccessat:269:48 faccessat2:439:439 pselect6:270:72
ppoll:271:73 set_robust_list:273:99 get_robust_list:274:100 utimensat:280:88 eventfd:284:- eventfd2:290:19
pipe2:293:59 dup3:292:24 preadv:295:69 pwritev:296:70 prlimit64:302:261 getcpu:309:168 getrandom:318:278
membarrier:324:283 copy_file_range:326:285 statx:332:291 rseq:334:293 close_range:436:436 restart_syscall:219:128
"""

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 1, "aarch64": 2}
_CLONE = {"x86_64": 56, "aarch64": 220}
_SOCKETPAIR = {"x86_64": 53, "aarch64": 199}
# Their arguments lie in memory a filter cannot read; with ENOSYS the C library falls back on clone and openat.
_ABSENT = (435, 437)
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020080
_AF_UNIX = 1

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _ARGUMENT = 0, 4, 16
_REFUSE = _ERRNO | errno.EPERM


def supported() -> bool:
    """Tell whether the numbers of this processor's system calls are known."""
    return platform.machine() in _ARCHITECTURES


def build_filter(machine: str) -> bytes:
    """Assemble the filter, as an array of ``struct sock_filter``.

    Args:
        machine: ``x86_64`` or ``aarch64``.
    """
    head = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        head += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _REFUSE)]
    for number in _ABSENT:
        head += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    head += [
        (_EQUAL, 0, 4, _CLONE[machine]),
        (_LOAD, 0, 0, _ARGUMENT),
        (_ANY_BIT, 0, 1, _NEW_NAMESPACES),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 4, _SOCKETPAIR[machine]),
        (_LOAD, 0, 0, _ARGUMENT),
        (_EQUAL, 1, 0, _AF_UNIX),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    numbers = _allowed(machine)
    body = [(_EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)]
    tail = [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in head + body + tail)


def _allowed(machine: str) -> list[int]:
    fields = [entry.split(":")[_COLUMN[machine]] for entry in _TABLE.split()]
    return [int(field) for field in fields if field != "-"]
