import { expect, it } from "vitest";
import { defaultSeccompProfile } from "./seccomp-profile.ts";

const namesFor = (capabilities: string[], arch = "x64") =>
  defaultSeccompProfile({ capabilities, arch }).syscalls[0]?.names ?? [];

it("allows calls that programs need and none that change the machine", () => {
  const names = namesFor([]);
  for (const name of ["read", "execve", "futex", "openat", "epoll_wait", "arch_prctl", "getrandom", "mseal"])
    expect(names).toContain(name);
  for (const name of [
    "mount",
    "unshare",
    "setns",
    "reboot",
    "kexec_load",
    "bpf",
    "keyctl",
    "io_uring_setup",
    "clone",
  ]) {
    expect(names).not.toContain(name);
  }
});

it.each([
  ["SYS_ADMIN", "mount"],
  ["SYS_CHROOT", "chroot"],
  ["SYS_TIME", "settimeofday"],
])("allows with %s the call %s", (capability, name) => {
  expect(namesFor([])).not.toContain(name);
  expect(namesFor([capability])).toContain(name);
});

it("allows clone to create namespaces only with SYS_ADMIN", () => {
  const rules = (capabilities: string[]) =>
    defaultSeccompProfile({ capabilities, arch: "x64" }).syscalls.filter(
      ({ args, errnoRet }) => args || errnoRet,
    );
  expect(rules([]).map(({ names }) => names[0])).toContain("clone");
  expect(rules([])).toContainEqual({ names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: 38 });
  expect(rules(["SYS_ADMIN"]).map(({ names }) => names[0])).not.toContain("clone");
});

it.each([
  ["AF_UNIX", 1, true],
  ["AF_INET6", 10, true],
  ["AF_ALG", 38, false],
  ["AF_NFC", 39, true],
  ["AF_VSOCK", 40, false],
  ["AF_XDP", 44, true],
])("%s is %i: allowed %s", (_name, family, allowed) => {
  const { syscalls } = defaultSeccompProfile({ capabilities: [], arch: "x64" });
  const holds: Record<string, (value: number) => boolean> = {
    SCMP_CMP_LT: (value) => family < value,
    SCMP_CMP_EQ: (value) => family === value,
    SCMP_CMP_GT: (value) => family > value,
  };
  const rules = syscalls.filter(({ names }) => names.includes("socket"));
  expect(rules.some(({ args = [] }) => args.every(({ op, value }) => holds[op]?.(value)))).toBe(allowed);
});

it("supports other architectures", () => {
  expect(defaultSeccompProfile({ capabilities: [], arch: "arm64" }).architectures).toContain(
    "SCMP_ARCH_AARCH64",
  );
  expect(defaultSeccompProfile({ capabilities: [], arch: "pdp11" })).not.toHaveProperty("architectures");
});
