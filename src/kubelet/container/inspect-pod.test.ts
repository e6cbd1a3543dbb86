import { status as grpcStatus } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import {
  Container,
  ContainerState,
  ContainerStatusResponse,
  PodSandbox,
  PodSandboxStatusResponse,
} from "../../cri/generated/cri.ts";
import { inspectPod } from "./inspect-pod.ts";

const labels = { "io.kubernetes.pod.uid": "u-1", "io.kubernetes.container.name": "c" };
const listing = {
  uid: "u-1",
  sandboxes: [PodSandbox.fromPartial({ id: "s" })],
  containers: ["kept", "gone"].map((id) => Container.fromPartial({ id, podSandboxId: "s" })),
};

function failure(code: grpcStatus): Error {
  return Object.assign(new Error("no"), { code, details: "no" });
}

function runtimeThatFailsWith(code: grpcStatus) {
  return {
    podSandboxStatus: async () => PodSandboxStatusResponse.fromPartial({ status: { id: "s", labels } }),
    containerStatus: async ({ containerId }: { containerId: string }) => {
      if (containerId === "gone") throw failure(code);
      const state = ContainerState.CONTAINER_EXITED;
      return ContainerStatusResponse.fromPartial({ status: { id: containerId, labels, state, exitCode: 3 } });
    },
  };
}

test("a container that went away between list and look is left out", async () => {
  const deps = { cri: { runtime: runtimeThatFailsWith(grpcStatus.NOT_FOUND) }, dataDirectory: "/nowhere" };
  const observed = await inspectPod(deps, listing);
  expect(observed?.uid).toBe("u-1");
  expect(observed?.sandboxes.map(({ id }) => id)).toEqual(["s"]);
  expect(observed?.containers).toMatchObject([
    { id: "kept", sandboxId: "s", state: { kind: "exited", exitCode: 3, message: "" } },
  ]);
});

test("a runtime that does not answer is no empty pod", async () => {
  const deps = { cri: { runtime: runtimeThatFailsWith(grpcStatus.UNAVAILABLE) }, dataDirectory: "/nowhere" };
  await expect(inspectPod(deps, listing)).rejects.toThrow("no");
});
