export interface SeccompProfile {
  readonly defaultAction: string;
  readonly defaultErrnoRet?: number;
  readonly architectures?: readonly string[];
  readonly syscalls: readonly SeccompRule[];
}

interface SeccompRule {
  readonly names: readonly string[];
  readonly action: string;
  readonly errnoRet?: number;
  readonly args?: readonly { index: number; value: number; valueTwo?: number; op: string }[];
}

const EPERM = 1;
const ENOSYS = 38;
/** Address families that reach the host's kernel rather than a network: its ciphers, and virtual machines. */
const [afAlg, afVsock] = [38, 40];
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET combined. */
const newNamespaces = 0x7e020000;
/** Harmless personalities: default, 32 bit, UNAME26, both, and the query. */
const personalities = [0, 8, 0x20000, 0x20008, 0xffffffff];

/** Default profile for a container with these capabilities (without the CAP_ prefix). */
export function defaultSeccompProfile(options: {
  capabilities: readonly string[];
  arch: string;
}): SeccompProfile {
  const { capabilities, arch } = options;
  const names = [
    ...Object.values(allowedAlways).flatMap(words),
    ...capabilities.flatMap((capability) => words(allowedWith[capability] ?? "")),
    ...words(allowedOn[arch] ?? ""),
  ];
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    defaultErrnoRet: EPERM,
    ...(architectures[arch] ? { architectures: architectures[arch] } : {}),
    syscalls: [
      { names: [...new Set(names)].sort(), action: "SCMP_ACT_ALLOW" },
      // Ranges around the two families: rules for one call are alternatives, so "not this" and "not that" would allow
      // both.
      allowWhen("socket", { index: 0, value: afAlg, op: "SCMP_CMP_LT" }),
      allowWhen("socket", { index: 0, value: afAlg + 1, op: "SCMP_CMP_EQ" }),
      allowWhen("socket", { index: 0, value: afVsock, op: "SCMP_CMP_GT" }),
      ...personalities.map((value) => allowWhen("personality", { index: 0, value, op: "SCMP_CMP_EQ" })),
      ...(capabilities.includes("SYS_ADMIN") ? [] : cloneWithoutNamespaces),
    ],
  };
}

const cloneWithoutNamespaces: readonly SeccompRule[] = [
  allowWhen("clone", { index: 0, value: newNamespaces, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }),
  // clone3 hides its flags behind a pointer; ENOSYS makes libraries fall back to clone.
  { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
];

function allowWhen(
  name: string,
  arg: { index: number; value: number; valueTwo?: number; op: string },
): SeccompRule {
  return { names: [name], action: "SCMP_ACT_ALLOW", args: [arg] };
}

function words(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

/**
 * Default seccomp profile as data: allowed calls, grouped by purpose. It follows containerd and Docker, so that an
 * image that runs there runs here; io_uring is omitted as in containerd. Other calls fail with EPERM. libseccomp skips
 * names that an architecture does not have.
 */
const allowedAlways: Readonly<Record<string, string>> = {
  processes: `execve execveat exit exit_group fork vfork wait4 waitid waitpid kill tkill tgkill getpid getppid gettid
    getpgid getpgrp setpgid getsid setsid prctl pidfd_open pidfd_send_signal process_mrelease set_tid_address
    set_thread_area get_thread_area set_robust_list get_robust_list rseq restart_syscall pause ptrace
    process_vm_readv process_vm_writev seccomp membarrier uname sysinfo times getrusage getrandom uretprobe`,
  identity: `getuid getuid32 geteuid geteuid32 getgid getgid32 getegid getegid32 getresuid getresuid32 getresgid
    getresgid32 getgroups getgroups32 setuid setuid32 setgid setgid32 setreuid setreuid32 setregid setregid32
    setresuid setresuid32 setresgid setresgid32 setfsuid setfsuid32 setfsgid setfsgid32 setgroups setgroups32
    capget capset umask landlock_add_rule landlock_create_ruleset landlock_restrict_self lsm_get_self_attr
    lsm_list_modules lsm_set_self_attr`,
  limits: `getrlimit setrlimit ugetrlimit prlimit64 getpriority setpriority ioprio_get ioprio_set getcpu
    sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam
    sched_getscheduler sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval
    sched_rr_get_interval_time64 sched_yield`,
  memory: `brk mmap mmap2 munmap mremap mprotect madvise mincore msync mlock mlock2 mlockall munlock munlockall
    remap_file_pages memfd_create memfd_secret pkey_alloc pkey_free pkey_mprotect map_shadow_stack cachestat
    mseal`,
  signals: `rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
    rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaltstack sigprocmask sigreturn signalfd signalfd4`,
  waiting: `futex futex_time64 futex_waitv futex_wake futex_wait futex_requeue poll ppoll ppoll_time64 select
    _newselect pselect6 pselect6_time64 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2
    epoll_wait epoll_wait_old eventfd eventfd2 nanosleep alarm getitimer setitimer`,
  time: `time gettimeofday adjtimex clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime
    clock_gettime64 clock_nanosleep clock_nanosleep_time64 timer_create timer_delete timer_getoverrun timer_gettime
    timer_gettime64 timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime
    timerfd_settime64`,
  openFiles: `open openat openat2 creat close close_range dup dup2 dup3 fcntl fcntl64 flock ioctl pipe pipe2 lseek
    _llseek read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 readahead fadvise64 fadvise64_64
    fallocate ftruncate ftruncate64 truncate truncate64 fsync fdatasync sync syncfs sync_file_range sendfile
    sendfile64 splice tee vmsplice copy_file_range io_setup io_submit io_cancel io_destroy io_getevents
    io_pgetevents io_pgetevents_time64`,
  fileNames: `access faccessat faccessat2 stat stat64 lstat lstat64 fstat fstat64 fstatat64 newfstatat statx statfs
    statfs64 fstatfs fstatfs64 chdir fchdir getcwd getdents getdents64 mkdir mkdirat mknod mknodat rmdir link linkat
    symlink symlinkat readlink readlinkat unlink unlinkat rename renameat renameat2 chmod fchmod fchmodat fchmodat2
    chown chown32 fchown fchown32 fchownat lchown lchown32 utime utimes utimensat utimensat_time64 futimesat
    name_to_handle_at inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_mark listmount
    statmount`,
  attributes: `getxattr lgetxattr fgetxattr setxattr lsetxattr fsetxattr listxattr llistxattr flistxattr removexattr
    lremovexattr fremovexattr getxattrat setxattrat listxattrat removexattrat`,
  sockets: `accept accept4 bind connect listen shutdown socketcall socketpair getsockname getpeername getsockopt
    setsockopt send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg recvmmsg_time64`,
  systemV: `ipc msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt shmget
    mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64
    mq_unlink`,
};

/** Calls that require a capability: useless without it, no additional risk with it. */
const allowedWith: Readonly<Record<string, string>> = {
  DAC_READ_SEARCH: "open_by_handle_at",
  SYS_ADMIN: `bpf clone clone3 fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr
    move_mount open_tree perf_event_open quotactl quotactl_fd setdomainname sethostname setns syslog umount umount2
    unshare`,
  SYS_BOOT: "reboot",
  SYS_CHROOT: "chroot",
  SYS_MODULE: "delete_module init_module finit_module",
  SYS_PACCT: "acct",
  SYS_PTRACE: "kcmp pidfd_getfd process_madvise",
  SYS_RAWIO: "iopl ioperm",
  SYS_TIME: "settimeofday stime clock_settime clock_settime64",
  SYS_TTY_CONFIG: "vhangup",
  SYS_NICE: "get_mempolicy mbind set_mempolicy set_mempolicy_home_node",
  SYSLOG: "syslog",
  BPF: "bpf",
  PERFMON: "perf_event_open",
};

const allowedOn: Readonly<Record<string, string>> = {
  x64: "arch_prctl modify_ldt",
  arm64: "arm_fadvise64_64 arm_sync_file_range sync_file_range2 breakpoint cacheflush set_tls",
  riscv64: "riscv_flush_icache riscv_hwprobe",
};

/**
 * Architectures of the profile; each costs the runtime 3-5 ms per container. x32 is omitted: distributions disable it,
 * and calls that are not listed are rejected. 32-bit programs run.
 */
const architectures: Readonly<Record<string, readonly string[]>> = {
  x64: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"],
  arm64: ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
  riscv64: ["SCMP_ARCH_RISCV64"],
};
