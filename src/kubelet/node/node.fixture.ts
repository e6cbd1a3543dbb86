import type { KubeObject } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { applyStrategicMergePatch } from "../../api/patch/strategic-merge-patch.ts";
import { builtInSchema } from "../../api/schema/built-in-schema.ts";
import type { Client } from "../../client/api/client.ts";
import type { RuntimeCondition } from "../../cri/generated/cri.ts";
import type { NodeOptions, NodeStatusFacts } from "./build-node.ts";
import type { Machine, RuntimeState } from "./read-machine.ts";

/** Time, machine, runtime and API server for tests. */
export const now = Date.parse("2022-12-06T15:33:47Z");

export const machine: Machine = {
  architecture: "amd64",
  kernelVersion: "6.1.0",
  osImage: "Debian GNU/Linux 12 (bookworm)",
  machineId: "m1",
  systemUuid: "s1",
  bootId: "boot-1",
  cpus: 2,
  memoryBytes: 8 * 1_024 ** 3,
  swapBytes: 0,
  storageBytes: 100 * 1_024 ** 3,
  addresses: ["192.168.0.7"],
};

export const nodeOptions: NodeOptions = {
  name: "node-1",
  maxPods: 110,
  kubeletVersion: "v1.36.0",
  kubeletPort: 10_250,
};

export const networkDown: RuntimeCondition = {
  type: "NetworkReady",
  status: false,
  reason: "NetworkPluginNotReady",
  message: "cni plugin not initialized",
};

export function answer(...conditions: readonly RuntimeCondition[]): RuntimeState {
  const ready = (type: string) => ({ type, status: true, reason: "", message: "" });
  const given = new Map(conditions.map((condition) => [condition.type, condition]));
  return {
    version: {
      version: "0.1.0",
      runtimeName: "kindling",
      runtimeVersion: "0.1.0",
      runtimeApiVersion: "v1",
    },
    status: {
      status: {
        conditions: ["RuntimeReady", "NetworkReady"].map((type) => given.get(type) ?? ready(type)),
      },
      info: {},
      runtimeHandlers: [],
      features: undefined,
    },
    atMs: now,
  };
}

export function nodeFacts(facts: Partial<NodeStatusFacts> = {}): NodeStatusFacts {
  return {
    options: nodeOptions,
    machine,
    runtime: answer(),
    images: undefined,
    shuttingDown: false,
    pullProgress: "unknown",
    previous: undefined,
    now,
    ...facts,
  };
}

/** Creates an API server that holds objects by resource and name and records calls. */
export function createFakeApi() {
  const objects = new Map<string, KubeObject>();
  let version = 1;

  function keep(at: string, object: KubeObject): KubeObject {
    const kept: KubeObject = structuredClone(object);
    kept.metadata.uid ??= `uid-${version}`;
    kept.metadata.resourceVersion = String(++version);
    objects.set(at, kept);
    return kept;
  }

  function find(at: string): KubeObject {
    const object = objects.get(at);
    if (!object) throw new StatusError(404, "NotFound", `${at} not found`);
    return object;
  }

  const api = {
    calls: [] as string[],
    /** Bodies of received patches. */
    patches: [] as unknown[],
    failure: undefined as Error | undefined,
    objects,
    keep,
    client: {
      create: answering("create", (resource, object: KubeObject) => {
        const at = `${resource}/${object.metadata.name}`;
        if (objects.has(at)) throw new StatusError(409, "AlreadyExists", `${at} exists`);
        return keep(at, object);
      }),
      get: answering("get", (resource, key: { name: string }) => find(`${resource}/${key.name}`)),
      update: answering("update", (resource, object: KubeObject) => {
        const at = `${resource}/${object.metadata.name}`;
        if (find(at).metadata.resourceVersion !== object.metadata.resourceVersion) {
          throw new StatusError(409, "Conflict", `${at} has changed`);
        }
        return keep(at, object);
      }),
      patch: answering("patch", (resource, key: { name: string }, options: { patch: { body: unknown } }) => {
        const at = `${resource}/${key.name}`;
        api.patches.push(options.patch.body);
        const patched = applyStrategicMergePatch(
          builtInSchema,
          "core.v1.Node",
          { ...find(at) },
          plain(options.patch.body),
        );
        return keep(at, patched as unknown as KubeObject);
      }),
    } as unknown as Pick<Client, "create" | "get" | "update" | "patch">,
  };

  function answering<Rest extends unknown[]>(
    verb: string,
    act: (resource: string, ...rest: Rest) => KubeObject,
  ): (resource: string, ...rest: Rest) => Promise<KubeObject> {
    return async (resource, ...rest) => {
      api.calls.push(`${verb} ${resource}`);
      if (api.failure) throw api.failure;
      return act(resource, ...rest);
    };
  }

  return api;
}

function plain(value: unknown) {
  return JSON.parse(JSON.stringify(value));
}
