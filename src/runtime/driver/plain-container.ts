import type { ContainerSpec } from "./driver.ts";

/** A container that asks for nothing: for those that the runtime itself tries out. */
export const plainContainer: Omit<ContainerSpec, "id" | "rootfs" | "args"> = {
  readonlyRootfs: false,
  env: [],
  workingDir: "/",
  user: { uid: 0, gid: 0, additionalGids: [] },
  hostname: "",
  mounts: [],
  devices: [],
  namespaces: { network: "host", ipc: "new", uts: "new", pid: "new" },
  cgroupParent: "",
  resources: {},
  security: {
    privileged: false,
    capabilities: { add: [], drop: [] },
    noNewPrivileges: false,
    maskedPaths: [],
    readonlyPaths: [],
    seccomp: { kind: "runtimeDefault" },
    apparmorProfile: undefined,
  },
  sysctls: {},
  oomScoreAdj: undefined,
  terminal: false,
  stdin: false,
  stdinOnce: false,
  logPath: "",
  annotations: {},
};
