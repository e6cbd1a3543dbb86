import { expect, test } from "vitest";
import { podKind } from "../../api/kinds/core/pod/kind.ts";
import type { Pod } from "../../api/meta/objects.ts";
import {
  type AdmissionPlugin,
  type AdmissionRequest,
  createAdmissionChain,
  forbidIf,
  type Operation,
  objectOf,
} from "./admission-chain.ts";

const user = { username: "jane", groups: [], extra: {} };

function makeRequest(operation: Operation, subresource = ""): AdmissionRequest {
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "default" } };
  const ref = { resource: podKind.resource, namespace: "default", name: "web" };
  const object = operation === "create" || operation === "update" ? pod : undefined;
  return { operation, ref, subresource, object, current: undefined, user, dryRun: false };
}

/** Records its calls as `name phase operation`. */
function createRecorder(name: string, operations: readonly Operation[], calls: string[]): AdmissionPlugin {
  return {
    name,
    handles: (operation) => operations.includes(operation),
    async mutate({ operation }) {
      calls.push(`${name} mutate ${operation}`);
    },
    validate({ operation }) {
      calls.push(`${name} validate ${operation}`);
    },
  };
}

test("runs every mutate in order, then every validate in order", async () => {
  const calls: string[] = [];
  const chain = createAdmissionChain([
    createRecorder("a", ["create"], calls),
    createRecorder("b", ["create"], calls),
  ]);
  await chain.admit(makeRequest("create"));
  expect(calls).toEqual(["a mutate create", "b mutate create", "a validate create", "b validate create"]);
});

test("mutate and validate are separate phases, so that the object is validated in between", async () => {
  const calls: string[] = [];
  const chain = createAdmissionChain([createRecorder("a", ["update"], calls)]);
  await chain.mutate(makeRequest("update"));
  expect(calls).toEqual(["a mutate update"]);
  await chain.validate(makeRequest("update"));
  expect(calls).toEqual(["a mutate update", "a validate update"]);
});

test("validate sees the object that every mutate has changed", async () => {
  const label = (name: string): AdmissionPlugin => ({
    name,
    handles: () => true,
    mutate(request) {
      const pod = objectOf<Pod>(request, podKind);
      if (pod) pod.metadata.labels = { ...pod.metadata.labels, [name]: "true" };
    },
  });
  let seen: unknown;
  const check: AdmissionPlugin = {
    name: "check",
    handles: () => true,
    validate(request) {
      seen = objectOf<Pod>(request, podKind)?.metadata.labels;
    },
  };
  await createAdmissionChain([check, label("a"), label("b")]).admit(makeRequest("create"));
  expect(seen).toEqual({ a: "true", b: "true" });
});

test.each<Operation>(["create", "update", "delete", "connect"])(
  "%s runs the plugins that handle it only",
  async (operation) => {
    const calls: string[] = [];
    const chain = createAdmissionChain([
      createRecorder("writes", ["create", "update"], calls),
      createRecorder("deletes", ["delete"], calls),
      createRecorder("connects", ["connect"], calls),
    ]);
    await chain.admit(makeRequest(operation, operation === "connect" ? "exec" : ""));
    const names = { create: "writes", update: "writes", delete: "deletes", connect: "connects" };
    expect(calls).toEqual([
      `${names[operation]} mutate ${operation}`,
      `${names[operation]} validate ${operation}`,
    ]);
  },
);

test.each(["mutate", "validate"] as const)("a plugin that rejects in %s ends the request", async (phase) => {
  const calls: string[] = [];
  const reject: AdmissionPlugin = {
    name: "reject",
    handles: () => true,
    [phase]: (request: AdmissionRequest) => forbidIf(request, "not on Fridays"),
  };
  const chain = createAdmissionChain([reject, createRecorder("later", ["create"], calls)]);
  await expect(chain.admit(makeRequest("create"))).rejects.toThrow('pods "web" is forbidden: not on Fridays');
  expect(calls).toEqual(phase === "mutate" ? [] : ["later mutate create"]);
});

test("objectOf returns only whole objects of the kind", () => {
  expect(objectOf(makeRequest("create"), podKind)).toMatchObject({ kind: "Pod" });
  expect(objectOf(makeRequest("create", "eviction"), podKind)).toBeUndefined();
  expect(objectOf(makeRequest("delete"), podKind)).toBeUndefined();
});
