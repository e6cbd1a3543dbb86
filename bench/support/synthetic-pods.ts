import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Lifecycle of a pod; each step is one change as written by the scheduler or a kubelet. */
const steps = ["created", "scheduled", "seen", "sandbox", "ready", "leaving", "stopped"] as const;
type Step = (typeof steps)[number];

interface Source {
  readonly port: number;
}

/**
 * API server with lists and watches only. It has `count` ready pods and, from the first watch on, the given number of changes per
 * second of pods that are created and deleted, with their events.
 */
export async function servePods(count: number, changesPerSecond: number): Promise<Source> {
  const watchers = { pods: new Set<ServerResponse>(), events: new Set<ServerResponse>() };
  let revision = count + 1;
  let next = count;
  const living: { readonly i: number; step: number }[] = [];

  function send(kind: keyof typeof watchers, type: string, object: object): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    for (const watcher of watchers[kind]) watcher.write(line);
  }

  function change(): void {
    const oldest = living[0];
    // About two hundred pods are starting at any time.
    const pod = living.length < 200 || !oldest ? { i: next++, step: -1 } : (living.shift() ?? oldest);
    pod.step++;
    const step = steps[pod.step];
    revision++;
    if (step === undefined) {
      send("pods", "DELETED", makePod(pod.i, "stopped", revision));
      return;
    }
    living.push(pod);
    send("pods", step === "created" ? "ADDED" : "MODIFIED", makePod(pod.i, step, revision));
    if (step === "sandbox") send("events", "ADDED", makeEvent(pod.i, ++revision));
  }

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://source");
    const resource = url.pathname.split("/").at(-1) ?? "";
    if (url.searchParams.get("watch")) {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      if (resource !== "pods" && resource !== "events") return;
      watchers[resource].add(response);
      response.on("close", () => watchers[resource].delete(response));
      return;
    }
    response.setHeader("content-type", "application/json");
    if (resource !== "pods")
      return void response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [] }));
    const from = Number(url.searchParams.get("continue") ?? 0);
    const until = Math.min(count, from + Number(url.searchParams.get("limit") ?? count));
    const items = Array.from({ length: until - from }, (_, k) => makePod(from + k, "ready", from + k + 1));
    const metadata = {
      resourceVersion: String(count + 1),
      ...(until < count && { continue: String(until) }),
    };
    response.end(JSON.stringify({ kind: "PodList", apiVersion: "v1", metadata, items }));
  });
  const everyMs = 20;
  setInterval(() => {
    if (watchers.pods.size === 0) return;
    for (let i = 0; i < (changesPerSecond * everyMs) / 1_000; i++) change();
  }, everyMs);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port };
}

function makePod(i: number, step: Step, revision: number): object {
  const reached = steps.indexOf(step);
  const owner = `web-${Math.floor(i / 30)}`;
  const name = `${owner}-7d9f8c6b5-${i.toString(36).padStart(5, "0")}`;
  const now = `${new Date(Date.now()).toISOString().slice(0, 19)}Z`;
  const condition = (type: string, isTrue: boolean) => ({
    type,
    status: isTrue ? "True" : "False",
    lastProbeTime: null,
    lastTransitionTime: now,
  });
  const isUp = reached >= steps.indexOf("ready") && step !== "stopped";
  const isLeaving = reached >= steps.indexOf("leaving");
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      generateName: `${owner}-7d9f8c6b5-`,
      namespace: `team-${i % 200}`,
      uid: `00000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}`,
      resourceVersion: String(revision),
      creationTimestamp: now,
      ...(isLeaving && { deletionTimestamp: now, deletionGracePeriodSeconds: 30 }),
      labels: { app: owner, team: `team-${i % 20}`, "pod-template-hash": "7d9f8c6b5" },
      annotations: { "example.com/checksum": "0123456789abcdef".repeat(4) },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: `${owner}-7d9f8c6b5`,
          uid: `rs-${owner}`,
          controller: true,
        },
      ],
      managedFields: managedFields(now),
    },
    spec: {
      ...(reached >= steps.indexOf("scheduled") && { nodeName: `node-${i % 5_000}` }),
      ...(i % 10 === 0 && { runtimeClassName: "microvm" }),
      serviceAccountName: "default",
      schedulerName: "default-scheduler",
      restartPolicy: "Always",
      containers: ["app", "proxy"].map((container) => ({
        name: container,
        image: `registry.example/${owner}/${container}:1.2.3`,
        env: Array.from({ length: 10 }, (_, k) => ({ name: `SETTING_${k}`, value: `value of setting ${k}` })),
        resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
        volumeMounts: [{ name: "kube-api-access", mountPath: "/var/run/secrets", readOnly: true }],
        readinessProbe: { httpGet: { path: "/ready", port: 8_080 }, periodSeconds: 10, failureThreshold: 3 },
      })),
      volumes: [
        { name: "kube-api-access", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
      ],
      tolerations: [
        {
          key: "node.kubernetes.io/not-ready",
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds: 300,
        },
      ],
    },
    status: {
      phase: isUp ? "Running" : "Pending",
      ...(reached >= steps.indexOf("seen") && {
        startTime: now,
        podIP: `10.${i % 250}.1.2`,
        hostIP: "10.0.0.1",
      }),
      conditions: [
        ...(reached >= steps.indexOf("seen")
          ? [
              condition(
                "PodReadyToStartContainers",
                reached >= steps.indexOf("sandbox") && step !== "stopped",
              ),
              condition("Initialized", true),
              condition("Ready", isUp),
              condition("ContainersReady", isUp),
            ]
          : []),
        ...(reached >= steps.indexOf("scheduled") ? [condition("PodScheduled", true)] : []),
      ],
      containerStatuses: ["app", "proxy"].map((container) => ({
        name: container,
        ready: isUp,
        started: isUp,
        restartCount: 0,
        image: `registry.example/${owner}/${container}:1.2.3`,
        imageID: `registry.example/${owner}@sha256:${"ab".repeat(32)}`,
        containerID: `containerd://${"cd".repeat(32)}`,
        state: isUp ? { running: { startedAt: now } } : { waiting: { reason: "ContainerCreating" } },
      })),
    },
  };
}

/** Managed fields, which are about a third of a real pod. */
function managedFields(time: string): object[] {
  return ["kube-controller-manager", "kubelet"].map((manager) => ({
    manager,
    operation: "Update",
    apiVersion: "v1",
    time,
    fieldsType: "FieldsV1",
    fieldsV1: Object.fromEntries(
      Array.from({ length: 20 }, (_, k) => [`f:field-number-${k}`, { "f:value": {} }]),
    ),
  }));
}

function makeEvent(i: number, revision: number): object {
  const now = new Date().toISOString();
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      name: `e.${revision}`,
      namespace: `team-${i % 200}`,
      uid: `event-${revision}`,
      resourceVersion: String(revision),
    },
    involvedObject: { kind: "Pod", uid: `00000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}` },
    reason: "Pulled",
    message:
      'Successfully pulled image "registry.example/app:1.2.3" in 1.234s (1.234s including waiting). Image size: 123456789 bytes.',
    type: "Normal",
    lastTimestamp: now,
    count: 1,
  };
}
