import type { SeccompProfile } from "./seccomp-profile.ts";

/** The parts of the OCI runtime specification's config.json that we write. */
export interface OciConfig {
  readonly ociVersion: string;
  readonly root: { readonly path: string; readonly readonly: boolean };
  readonly hostname?: string;
  readonly process: OciProcess;
  readonly mounts: readonly OciMount[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux: OciLinux;
}

interface OciProcess {
  readonly terminal: boolean;
  readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids: readonly number[] };
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly cwd: string;
  readonly capabilities: Readonly<Record<"bounding" | "effective" | "permitted", readonly string[]>>;
  readonly rlimits?: readonly { readonly type: string; readonly soft: number; readonly hard: number }[];
  readonly noNewPrivileges: boolean;
  readonly oomScoreAdj?: number;
  readonly apparmorProfile?: string;
}

export interface OciMount {
  readonly destination: string;
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

export interface OciDevice {
  readonly path: string;
  readonly type: "c" | "b" | "p";
  readonly major: number;
  readonly minor: number;
  readonly fileMode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface OciDeviceRule {
  readonly allow: boolean;
  readonly type?: string;
  readonly major?: number;
  readonly minor?: number;
  readonly access: string;
}

interface OciLinux {
  readonly namespaces: readonly { readonly type: string; readonly path?: string }[];
  readonly devices: readonly OciDevice[];
  readonly cgroupsPath: string;
  readonly resources: {
    readonly devices: readonly OciDeviceRule[];
    readonly cpu?: Readonly<Record<string, number | string>>;
    readonly memory?: Readonly<Record<string, number>>;
    readonly pids?: { readonly limit: number };
    readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limit: number }[];
    readonly unified?: Readonly<Record<string, string>>;
  };
  readonly sysctl?: Readonly<Record<string, string>>;
  readonly seccomp?: SeccompProfile;
  readonly rootfsPropagation?: string;
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
}
