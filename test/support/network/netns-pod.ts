import { randomBytes } from "node:crypto";
import type { PodNetworkRequest } from "../../../src/runtime/networks/network.ts";

export function somePod(overrides: Partial<PodNetworkRequest> = {}): PodNetworkRequest {
  return somePodNamed(randomBytes(12).toString("hex"), overrides);
}

export function somePodNamed(podId: string, overrides: Partial<PodNetworkRequest> = {}): PodNetworkRequest {
  return {
    podId,
    namespace: "test",
    name: podId,
    uid: podId,
    portMappings: [],
    annotations: {},
    ...overrides,
  };
}
