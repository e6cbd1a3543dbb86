/** Patch of a pod template that makes its pods fail on the simulated runtime. */
export interface Breakage {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

const simulated = (annotations: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [`simulated.kindling.dev/${key}`, value]),
  );
const container = (fields: object) => ({ containers: [{ name: "c", ...fields }] });
const command = { exec: { command: ["true"] } };

/** Image whose pull stalls, with the rule for the simulated runtime. */
const stalledImage = "stalled:1";
export const stalledPull = {
  match: { image: stalledImage },
  pull: { sizeBytes: 2 ** 20, bytesPerSecond: 2 ** 20, stallAtByte: 2 ** 19 },
} as const;

/** Kinds of breakage that leave a StatefulSet stuck, each with a name for the set. */
export const breakages: readonly [what: string, name: string, breakage: Breakage][] = [
  [
    "never becomes ready",
    "never-ready",
    {
      annotations: simulated({ "exec-exit": "code=1 until=1000s" }),
      spec: container({ readinessProbe: { ...command, periodSeconds: 1 } }),
    },
  ],
  [
    "crashes",
    "crashes",
    {
      annotations: simulated({ exit: "code=1 after=10ms", "exec-exit": "code=1 until=1000s" }),
      spec: container({ readinessProbe: command }),
    },
  ],
  ["is unschedulable", "unschedulable", { spec: { nodeName: null, nodeSelector: { disk: "none" } } }],
  [
    "refers to a missing ConfigMap",
    "missing-map",
    { spec: container({ env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "none", key: "a" } } }] }) },
  ],
  [
    "has a failing init container",
    "failing-init",
    {
      annotations: simulated({ "exit.init": "code=1 after=10ms" }),
      spec: { initContainers: [{ name: "init", image: "web:1" }] },
    },
  ],
  [
    "fails its startup probe",
    "startup-probe",
    {
      annotations: simulated({ "exec-exit": "code=1 until=1000s" }),
      spec: container({ startupProbe: { ...command, periodSeconds: 1, failureThreshold: 1 } }),
    },
  ],
  ["waits for a stalled pull", "stalled-pull", { spec: container({ image: stalledImage }) }],
  [
    "has a command that does not exist",
    "bad-command",
    { annotations: simulated({ "start-error": 'exec: "nothing": executable file not found in $PATH' }) },
  ],
  [
    "mounts a missing Secret",
    "bad-mount",
    {
      spec: {
        volumes: [{ name: "v", secret: { secretName: "none" } }],
        ...container({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
      },
    },
  ],
];
