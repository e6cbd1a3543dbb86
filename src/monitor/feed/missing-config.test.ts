import { expect, test } from "vitest";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { forbidden, notFound } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import { findMissingConfig } from "./missing-config.ts";

const app: Container = {
  name: "app",
  image: "web:1",
  envFrom: [
    { configMapRef: { name: "gone" } },
    { secretRef: { name: "kept" } },
    { configMapRef: { name: "gone-optional", optional: true } },
  ],
  env: [
    { name: "A", valueFrom: { configMapKeyRef: { name: "gone", key: "a" } } },
    { name: "B", valueFrom: { secretKeyRef: { name: "gone", key: "b" } } },
    { name: "C", valueFrom: { secretKeyRef: { name: "forbidden", key: "c" } } },
    { name: "D", value: "plain" },
  ],
};

async function findMissing(reason: string) {
  const requested: string[] = [];
  const request = async (_method: string, path: string, options?: { headers?: Record<string, string> }) => {
    const name = path.split("/").at(-1) ?? "";
    requested.push(path);
    expect(options?.headers?.accept).toContain("PartialObjectMetadata");
    if (name === "forbidden") throw forbidden({ group: "", plural: "secrets" }, name, "no");
    if (name.startsWith("gone")) throw notFound({ group: "", plural: "configmaps" }, name);
    return {};
  };
  const init = { restartCount: 0, image: "", imageID: "", ready: false, state: { waiting: { reason } } };
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "shop" },
    spec: { initContainers: [{ name: "first" }, { name: "init" }], containers: [app, { ...app, name: "b" }] },
    status: { initContainerStatuses: [{ ...init, name: "first" }] },
  };
  const client = { request } as unknown as Pick<Client, "request">;
  const missing = await findMissingConfig(client, { pod, now: 0 }, new AbortController().signal);
  return { missing, requested };
}

test("finds the objects that the containers after a failing init container lack, and requests each once", async () => {
  const { missing, requested } = await findMissing("CrashLoopBackOff");
  expect(missing).toEqual([
    { kind: "configmap", name: "gone", containers: ["app", "b"] },
    { kind: "secret", name: "gone", containers: ["app", "b"] },
  ]);
  expect(requested).toEqual(
    ["configmaps/gone", "secrets/kept", "secrets/gone", "secrets/forbidden"].map(
      (path) => `/api/v1/namespaces/shop/${path}`,
    ),
  );
});

test("requests nothing while no init container fails", async () => {
  expect((await findMissing("PodInitializing")).requested).toEqual([]);
});
