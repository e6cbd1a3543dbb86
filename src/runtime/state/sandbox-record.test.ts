import { expect, test } from "vitest";
import { PodSandboxConfig } from "../../cri/generated/cri.ts";
import { decodeSandbox, encodeSandbox, type SandboxRecord, type SandboxState } from "./sandbox-record.ts";

const record: SandboxRecord = {
  id: "s",
  config: PodSandboxConfig.fromPartial({ hostname: "web" }),
  runtimeHandler: "microvm",
  createdAt: 5,
  state: { kind: "making" },
};
const ready = (pid: "none" | "host" | "pause") => ({
  kind: "ready" as const,
  namespaces: { network: "/n", ipc: "/i", uts: "/u", pid },
  addresses: ["10.0.0.2"],
});
const decoded = (state: unknown) =>
  decodeSandbox(JSON.parse(JSON.stringify(encodeSandbox({ ...record, state: state as SandboxState }))));

test.each<SandboxState>([
  { kind: "making" },
  { kind: "notReady" },
  { ...ready("none"), container: "none" },
  { ...ready("none"), container: "handler" },
  { ...ready("pause"), container: "handler" },
])("decodes the record that was encoded: %j", (state) => {
  expect(decoded(state)).toEqual({ ...record, state });
});

test.each([
  ["none", "none"],
  ["host", "none"],
  ["pause", "pause"],
] as const)(
  "decodes a record of an earlier version with PID namespace %s as container %s",
  (pid, container) => {
    expect(decoded(ready(pid)).state).toEqual({ ...ready(pid), container });
  },
);
