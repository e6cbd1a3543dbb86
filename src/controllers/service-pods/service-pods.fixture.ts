import type { Pod, Service } from "../../api/meta/objects.ts";

export function makeService(
  spec: Partial<NonNullable<Service["spec"]>> = {},
  metadata: Partial<Service["metadata"]> = {},
): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default", uid: "service", ...metadata },
    spec: {
      selector: { app: "web" },
      clusterIP: "10.96.0.10",
      ipFamilies: ["IPv4"],
      ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }],
      ...spec,
    },
  };
}

interface PodParts {
  readonly ip?: string;
  readonly ips?: readonly string[];
  readonly ready?: boolean;
  readonly terminating?: boolean;
  readonly phase?: string;
  readonly spec?: Partial<NonNullable<Pod["spec"]>>;
}

export function makePod(name: string, parts: PodParts = {}): Pod {
  const { ip = "10.0.0.1", ips = [ip], ready = true, terminating = false, phase = "Running", spec } = parts;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: name,
      labels: { app: "web" },
      ...(terminating && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    },
    spec: { nodeName: "node-1", containers: [{ name: "c" }], ...spec },
    status: {
      phase,
      ...(ips.some(Boolean) && { podIP: ips[0], podIPs: ips.map((each) => ({ ip: each })) }),
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    },
  };
}
