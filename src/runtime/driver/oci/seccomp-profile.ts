import { allowedAlways, allowedOn, allowedWith, architectures } from "./seccomp-table.ts";

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
/** Address families that lead into the host's kernel rather than to a network: its ciphers, and virtual machines. */
const [afAlg, afVsock] = [38, 40];
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET together. */
const newNamespaces = 0x7e020000;
/** The personalities that change nothing dangerous: default, 32 bit, UNAME26, both, and asking which it is. */
const personalities = [0, 8, 0x20000, 0x20008, 0xffffffff];

/** The runtime's default profile for a container with these capabilities (no CAP_ prefix). */
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
      // All around the two: rules for one call are alternatives, so "not this" and "not that" would allow both.
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
