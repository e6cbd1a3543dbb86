import fc from "fast-check";
import { test } from "vitest";
import { collectionOf, samples, useFuzzServer } from "../../support/fuzz/fuzz-server.ts";
import { mutate, nastyText, nastyValue } from "../../support/fuzz/nasty-values.ts";

const { fuzz, expectWell } = useFuzzServer();

const someSample = fc.constantFrom(...samples);
const json = { "content-type": "application/json" };

test("objects with random errors", async () => {
  const verb = fc.constantFrom("POST", "PUT", "STATUS");
  await fuzz(
    fc.tuple(someSample, fc.nat(1_000), nastyValue, verb).map(([sample, at, value, how]) => {
      const body = JSON.stringify(mutate(sample, at, value));
      const path = collectionOf(sample);
      if (how === "POST") return { method: "POST", path: `${path}?dryRun=All`, headers: json, body };
      const subresource = how === "STATUS" ? "/status" : "";
      return { method: "PUT", path: `${path}/${sample.metadata.name}${subresource}`, headers: json, body };
    }),
    3,
  );
});

test("bodies that are almost JSON", async () => {
  const text = fc.oneof(
    fc.constantFrom(
      "",
      "null",
      "[]",
      "1",
      '"x"',
      "{",
      "}",
      '{"a":}',
      "{}",
      "\ufeff{}",
      "{}{}",
      "{}x",
      "\u0000",
    ),
    fc.constantFrom(
      '{"metadata":null}',
      '{"metadata":[]}',
      '{"metadata":{"name":"a","name":"b"}}',
      '{"data":{"a":1e999}}',
    ),
    fc.constantFrom(
      '{"__proto__":{"polluted":1}}',
      '{"metadata":{"__proto__":{"polluted":1}}}',
      '{"constructor":{"prototype":{"polluted":1}}}',
      '{"metadata":{"labels":{"__proto__":"x","constructor":"y"}}}',
      '{"metadata":{"name":"\\ud800"}}',
    ),
    fc.constantFrom(
      "[".repeat(100_000),
      '{"a":'.repeat(100_000),
      `{"metadata":{"name":"d"},"data":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
      `{"data":{"big":"${"x".repeat(2_000_000)}"}}`,
      `{"n":${"9".repeat(100_000)}}`,
    ),
    fc.string({ unit: "binary" }),
  );
  const type = fc.constantFrom("application/json", "application/yaml");
  await fuzz(
    fc.tuple(someSample, text, type).map(([sample, body, contentType]) => ({
      method: "POST",
      path: `${collectionOf(sample)}?dryRun=All`,
      headers: { "content-type": contentType },
      body: Buffer.from(body),
    })),
    2,
  );
});

test("invalid protobuf", async () => {
  const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
  const bytes = fc.tuple(fc.boolean(), fc.uint8Array({ maxLength: 200 }));
  await fuzz(
    fc.tuple(someSample, bytes).map(([sample, [marked, noise]]) => ({
      method: "POST",
      path: `${collectionOf(sample)}?dryRun=All`,
      headers: { "content-type": "application/vnd.kubernetes.protobuf" },
      body: marked ? Buffer.concat([magic, noise]) : Buffer.from(noise),
    })),
    2,
  );
});

test("patches of every type", async () => {
  const step = fc.oneof(
    fc.constantFrom(
      "metadata",
      "labels",
      "spec",
      "containers",
      "template",
      "0",
      "-",
      "99",
      "~",
      "~2",
      "__proto__",
    ),
    nastyText,
  );
  const pointer = fc.oneof(
    fc.array(step, { maxLength: 5 }).map((steps) => `/${steps.join("/")}`),
    nastyText,
  );
  const operation = fc.record(
    {
      op: fc.oneof(fc.constantFrom("add", "remove", "replace", "move", "copy", "test"), nastyText),
      path: pointer,
      from: pointer,
      value: nastyValue,
    },
    { requiredKeys: [] },
  );
  const merge = fc.constantFrom("merge-patch", "strategic-merge-patch");
  const patch: fc.Arbitrary<readonly [string, unknown]> = fc.oneof(
    fc.array(operation, { maxLength: 4 }).map((operations) => ["json-patch", operations] as const),
    fc
      .tuple(merge, someSample, fc.nat(1_000), nastyValue)
      .map(([type, sample, at, value]) => [type, mutate(sample, at, value)] as const),
    fc.tuple(
      fc.constantFrom("json-patch", "merge-patch", "strategic-merge-patch", "apply-patch", "nope"),
      nastyValue,
    ),
  );
  await fuzz(
    fc
      .tuple(someSample, patch, fc.constantFrom("", "/status", "/scale"))
      .map(([sample, [type, body], subresource]) => ({
        method: "PATCH",
        path: `${collectionOf(sample)}/${sample.metadata.name}${subresource}?dryRun=All`,
        headers: { "content-type": `application/${type}+json` },
        body: JSON.stringify(body),
      })),
    3,
  );
});

test("options of deletes, evictions, bindings, tokens and reviews", async () => {
  const options = {
    kind: "DeleteOptions",
    apiVersion: "v1",
    gracePeriodSeconds: 5,
    propagationPolicy: "Background",
  };
  const conditional = { ...options, preconditions: { uid: "x", resourceVersion: "1" } };
  const access = { verb: "get", resource: "pods", namespace: "default" };
  const bound = { kind: "Pod", name: "one", apiVersion: "v1" };
  const target = fc.constantFrom<readonly [string, string, object]>(
    ["DELETE", "/api/v1/namespaces/default/pods/one?dryRun=All", options],
    ["DELETE", "/api/v1/namespaces/default/pods?dryRun=All", options],
    ["DELETE", "/api/v1/namespaces/default/pods/one?dryRun=All", conditional],
    [
      "POST",
      "/api/v1/namespaces/default/pods/one/eviction?dryRun=All",
      { metadata: { name: "one" }, deleteOptions: options },
    ],
    [
      "POST",
      "/api/v1/namespaces/default/pods/one/binding?dryRun=All",
      { target: { kind: "Node", name: "n" } },
    ],
    [
      "POST",
      "/api/v1/namespaces/default/serviceaccounts/one/token",
      { spec: { audiences: ["a"], expirationSeconds: 600, boundObjectRef: bound } },
    ],
    [
      "POST",
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      { spec: { user: "bob", groups: ["a"], extra: { a: ["b"] }, resourceAttributes: access } },
    ],
    ["POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", { spec: { namespace: "default" } }],
    ["POST", "/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: "a.b.c", audiences: ["x"] } }],
    [
      "PUT",
      "/api/v1/namespaces/default/finalize?dryRun=All",
      { metadata: { name: "default" }, spec: { finalizers: ["x"] } },
    ],
    [
      "PUT",
      "/apis/apps/v1/namespaces/default/statefulsets/one/scale?dryRun=All",
      { metadata: { name: "one", namespace: "default" }, spec: { replicas: 3 } },
    ],
  );
  await fuzz(
    fc.tuple(target, fc.nat(1_000), nastyValue).map(([[method, path, body], at, value]) => ({
      method,
      path,
      headers: json,
      body: JSON.stringify(mutate(body, at, value)),
    })),
    3,
  );
});

expectWell();
