import { Agent } from "node:https";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../src/api/objects.ts";
import { findResourceOfKind, type Resource, resources } from "../../src/api/resources.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { readCredentials, startTestServer, type TestServer } from "../support/api-server.ts";
import { oneOfEach } from "../support/one-of-each.ts";
import { type Probe, type ProbeResult, probe } from "../support/probe.ts";

/** Change it to look elsewhere; what it finds is found again with the seed that the failure prints. */
const seed = 20_260_301;
const runs = 400;

let server: TestServer;
let agent: Agent;
const errors: string[] = [];

beforeAll(async () => {
  const logger = createLogger({
    format: "json",
    level: "error",
    destination: { write: (line: string) => errors.push(line) },
  });
  server = await startTestServer({ logger });
  agent = new Agent({ keepAlive: true, maxSockets: 4, ...(await readCredentials(server.kubeconfig)) });
  for (const sample of samples) await server.call("POST", collectionOf(sample), { body: sample });
});
afterAll(async () => {
  agent.destroy();
  await server.close();
});

const samples: KubeObject[] = parseAllDocuments(oneOfEach("x")).map((document) => document.toJS());

function collectionOf({ apiVersion = "", kind = "" }: KubeObject): string {
  const resource = findResourceOfKind(apiVersion, kind);
  if (!resource) throw new Error(`${kind} is not served`);
  return pathOf(resource);
}

function pathOf({ group, version, namespaced, plural }: Resource): string {
  return `${group ? `/apis/${group}` : "/api"}/${version}/${namespaced ? "namespaces/default/" : ""}${plural}`;
}

/** Whatever it is sent, the server answers, never with a 500, and complains in the form that clients can read. */
async function check(sent: Probe): Promise<ProbeResult> {
  const answer = await probe(server.url, agent, sent);
  const context = `${sent.method} ${sent.path} ${JSON.stringify(sent.headers ?? {})} ${sent.body?.toString().slice(0, 2_000) ?? ""}\n${answer.text.slice(0, 500)}`;
  if (answer.status >= 500) throw new Error(`${answer.status}: ${context}`);
  // An expectation that is none is refused below the API, as by any HTTP server.
  if (answer.status >= 400 && answer.status !== 417 && sent.method !== "HEAD") {
    const status = JSON.parse(answer.text);
    if (status.kind !== "Status" || status.code !== answer.status) throw new Error(`no Status: ${context}`);
  }
  return answer;
}

const fuzz = <T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => Promise<unknown>, numRuns = runs) =>
  fc.assert(
    fc.asyncProperty(arbitrary, async (value) => {
      await property(value);
    }),
    { seed, numRuns, endOnFailure: true },
  );

const nastyText = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "/",
    "..",
    "%",
    "\u0000",
    "__proto__",
    "constructor",
    "toString",
    "ä",
    "😀",
    "\ud800",
    "null",
    "-1",
    "1e999",
  ),
  fc.constantFrom(
    "x".repeat(254),
    "x".repeat(5_000),
    "9".repeat(30),
    "9223372036854775808",
    "a=b,c",
    "!",
    "(",
    ")",
    "in (",
    "\u2028",
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const nastyNumber = fc.constantFrom(
  0,
  -0,
  -1,
  1.5,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  1e21,
  1e308,
  5e-324,
  Number.MAX_SAFE_INTEGER,
);
const nastyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: nastyText },
  { weight: 3, arbitrary: nastyNumber },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      null,
      true,
      false,
      [],
      {},
      [null],
      [[]],
      [{}],
      { "": {} },
      { $patch: "delete" },
      { $patch: "nope" },
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);

const someResource = fc.constantFrom(...resources);
const words = fc.constantFrom(
  "one",
  "default",
  "kube-system",
  "pods",
  "status",
  "scale",
  "log",
  "proxy",
  "token",
  "namespaces",
  "watch",
);

describe("URLs", () => {
  const segment = fc.oneof(
    { weight: 2, arbitrary: words },
    nastyText.map((text) => encodeURIComponent(wellFormed(text))),
    fc.constantFrom("%", "%zz", "%00", "%2f", "%c3%28", "..", "."),
  );
  const path = fc.oneof(
    fc
      .tuple(
        fc.constantFrom(
          "/api/v1",
          "/apis/apps/v1",
          "/apis",
          "/api",
          "",
          "/openapi/v3",
          "/openapi/v2",
          "/healthz",
          "/livez",
          "/metrics",
        ),
        fc.array(segment, { maxLength: 6 }),
      )
      .map(([root, rest]) => [root, ...rest].join("/") || "/"),
    fc
      .tuple(someResource, fc.array(segment, { maxLength: 3 }))
      .map(([resource, rest]) => [pathOf(resource), ...rest].join("/")),
  );
  const parameter = fc.tuple(
    fc.constantFrom(
      "limit",
      "continue",
      "labelSelector",
      "fieldSelector",
      "resourceVersionMatch",
      "sendInitialEvents",
      "allowWatchBookmarks",
      "timeoutSeconds",
      "dryRun",
      "fieldValidation",
      "fieldManager",
      "pretty",
      "includeObject",
      "gracePeriodSeconds",
      "propagationPolicy",
      "orphanDependents",
      "verbose",
      "exclude",
      "timeout",
      "watch",
      "follow",
      "container",
      "force",
    ),
    fc.oneof(
      nastyText,
      fc.constantFrom("true", "false", "1", "0", "All", "Strict", "Exact", "NotOlderThan", "Orphan"),
    ),
  );
  const query = fc
    .array(parameter, { maxLength: 4 })
    .map((pairs) =>
      pairs.length === 0
        ? ""
        : `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(wellFormed(value))}`).join("&")}`,
    );
  const method = fc.constantFrom(
    "GET",
    "GET",
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "PROPFIND",
  );

  test("of any shape, with any method and query", async () => {
    await fuzz(
      fc.record({ method, path, query }),
      ({ method, path, query }) => check({ method, path: path + query }),
      3 * runs,
    );
  });

  test("selectors", async () => {
    const token = fc.constantFrom(
      "a",
      "app",
      "=",
      "==",
      "!=",
      "in",
      "notin",
      "(",
      ")",
      ",",
      "!",
      " ",
      "x",
      "metadata.name",
      "spec.nodeName",
      "status.phase",
      "\\",
      "gt",
      ">",
      "<",
      "1",
    );
    const selector = fc.oneof(
      fc.array(token, { maxLength: 10 }).map((tokens) => tokens.join("")),
      fc.array(token, { maxLength: 10 }).map((tokens) => tokens.join(" ")),
      nastyText,
    );
    await fuzz(
      fc.tuple(someResource, fc.constantFrom("labelSelector", "fieldSelector"), selector),
      ([resource, name, text]) =>
        check({
          method: "GET",
          path: `${pathOf(resource)}?${name}=${encodeURIComponent(wellFormed(text))}`,
        }),
    );
  });

  test("continue tokens and versions", async () => {
    const token = fc.oneof(
      nastyText.map((text) => wellFormed(text)),
      fc
        .record({
          v: fc.constantFrom("meta.k8s.io/v1", "v0", 1),
          rv: fc.oneof(fc.integer({ min: -2, max: 100 }), fc.constantFrom(1.5, 1e21, "1", null)),
          start: fc.oneof(nastyText, nastyNumber),
        })
        .map((parts) => Buffer.from(JSON.stringify(parts)).toString("base64url")),
    );
    await fuzz(fc.tuple(someResource, token), ([resource, text]) =>
      check({ method: "GET", path: `${pathOf(resource)}?limit=2&continue=${encodeURIComponent(text)}` }),
    );
    const version = fc.oneof(
      nastyText.map((text) => wellFormed(text)),
      fc.integer({ min: -1, max: 100 }).map(String),
    );
    await fuzz(
      fc.tuple(
        someResource,
        version,
        fc.constantFrom("", "Exact", "NotOlderThan", "Nope"),
        fc.constantFrom("", "&watch=1", "&limit=1"),
      ),
      ([resource, text, match, more]) =>
        // A list as of the future waits for it, which is right but slow.
        /^\d{4,}$/.test(text)
          ? Promise.resolve()
          : check({
              method: "GET",
              path: `${pathOf(resource)}?resourceVersion=${encodeURIComponent(text)}&resourceVersionMatch=${match}${more}`,
            }),
    );
  });
});

describe("bodies", () => {
  const json = { "content-type": "application/json" };

  test("objects with something wrong in them", async () => {
    await fuzz(
      fc.record({
        sample: fc.constantFrom(...samples),
        at: fc.nat(1_000),
        value: nastyValue,
        verb: fc.constantFrom("POST", "PUT", "STATUS"),
      }),
      ({ sample, at, value, verb }) => {
        const body = JSON.stringify(mutate(sample, at, value));
        const path = collectionOf(sample);
        if (verb === "POST")
          return check({ method: "POST", path: `${path}?dryRun=All`, headers: json, body });
        const name = `${path}/${sample.metadata.name}${verb === "STATUS" ? "/status" : ""}`;
        return check({ method: "PUT", path: name, headers: json, body });
      },
      4 * runs,
    );
  });

  test("texts that are hardly JSON", async () => {
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
        '{"metadata":null}',
        '{"metadata":[]}',
        '{"metadata":{"name":"a","name":"b"}}',
        '{"__proto__":{"polluted":1}}',
        '{"metadata":{"__proto__":{"polluted":1}}}',
        '{"constructor":{"prototype":{"polluted":1}}}',
        '{"metadata":{"labels":{"__proto__":"x","constructor":"y"}}}',
        '{"metadata":{"name":"\\ud800"}}',
        '{"data":{"a":1e999}}',
        "[".repeat(100_000),
        '{"a":'.repeat(100_000),
        `{"metadata":{"name":"d"},"data":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
        `{"data":{"big":"${"x".repeat(2_000_000)}"}}`,
        `{"n":${"9".repeat(100_000)}}`,
        "\ufeff{}",
        "{}{}",
        "{}x",
        "\u0000",
      ),
      fc.string({ unit: "binary" }),
    );
    await fuzz(
      fc.tuple(fc.constantFrom(...samples), text, fc.constantFrom("application/json", "application/yaml")),
      ([sample, body, type]) =>
        check({
          method: "POST",
          path: `${collectionOf(sample)}?dryRun=All`,
          headers: { "content-type": type },
          body: Buffer.from(body),
        }),
    );
    expect({}).not.toHaveProperty("polluted");
  });

  test("protobuf that is none", async () => {
    const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
    const bytes = fc
      .uint8Array({ maxLength: 200 })
      .chain((noise) => fc.constantFrom(Buffer.from(noise), Buffer.concat([magic, noise])));
    await fuzz(fc.tuple(fc.constantFrom(...samples), bytes), ([sample, body]) =>
      check({
        method: "POST",
        path: `${collectionOf(sample)}?dryRun=All`,
        headers: { "content-type": "application/vnd.kubernetes.protobuf" },
        body,
      }),
    );
  });

  test("patches of every type", async () => {
    const pointer = fc.oneof(
      fc
        .array(
          fc.oneof(
            words,
            fc.constantFrom(
              "metadata",
              "labels",
              "spec",
              "containers",
              "0",
              "-",
              "99",
              "~",
              "~2",
              "__proto__",
              "template",
            ),
            nastyText,
          ),
          { maxLength: 5 },
        )
        .map((parts) => `/${parts.join("/")}`),
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
    const jsonPatch = fc
      .oneof(fc.array(operation, { maxLength: 4 }), nastyValue)
      .map((patch) => ["json-patch", patch] as const);
    const mergePatch = fc.tuple(
      fc.constantFrom("merge-patch", "strategic-merge-patch"),
      fc.nat(1_000),
      nastyValue,
      fc.constantFrom(...samples),
    );
    const patch = fc.oneof(
      jsonPatch,
      mergePatch.map(([type, at, value, sample]) => [type, mutate(sample, at, value)] as const),
      fc.tuple(fc.constantFrom("merge-patch", "strategic-merge-patch", "apply-patch", "nope"), nastyValue),
    );
    await fuzz(
      fc.tuple(fc.constantFrom(...samples), patch, fc.constantFrom("", "/status", "/scale")),
      ([sample, [type, body], subresource]) =>
        check({
          method: "PATCH",
          path: `${collectionOf(sample)}/${sample.metadata.name}${subresource}?dryRun=All`,
          headers: { "content-type": `application/${type}+json` },
          body: JSON.stringify(body),
        }),
      3 * runs,
    );
    expect({}).not.toHaveProperty("polluted");
  });

  test("options of deletes, evictions, bindings, tokens and reviews", async () => {
    const options = {
      kind: "DeleteOptions",
      apiVersion: "v1",
      gracePeriodSeconds: 5,
      propagationPolicy: "Background",
      preconditions: { uid: "x", resourceVersion: "1" },
    };
    const review = {
      spec: {
        user: "bob",
        groups: ["a"],
        extra: { a: ["b"] },
        resourceAttributes: { verb: "get", resource: "pods", namespace: "default" },
      },
    };
    const targets: readonly (readonly [string, string, object])[] = [
      ["DELETE", "/api/v1/namespaces/default/pods/one?dryRun=All", options],
      ["DELETE", "/api/v1/namespaces/default/pods?dryRun=All", options],
      [
        "POST",
        "/api/v1/namespaces/default/pods/one/eviction?dryRun=All",
        { metadata: { name: "one" }, deleteOptions: options },
      ],
      ["POST", "/api/v1/namespaces/default/pods/one/binding", { target: { kind: "Node", name: "n" } }],
      [
        "POST",
        "/api/v1/namespaces/default/serviceaccounts/one/token",
        {
          spec: {
            audiences: ["a"],
            expirationSeconds: 600,
            boundObjectRef: { kind: "Pod", name: "one", apiVersion: "v1" },
          },
        },
      ],
      ["POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review],
      ["POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", { spec: { namespace: "default" } }],
      ["POST", "/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: "a.b.c", audiences: ["x"] } }],
    ];
    await fuzz(
      fc.tuple(fc.constantFrom(...targets), fc.nat(1_000), nastyValue),
      ([[method, path, body], at, value]) =>
        check({ method, path, headers: json, body: JSON.stringify(mutate(body, at, value)) }),
    );
  });
});

describe("headers", () => {
  const headerText = fc.oneof(
    nastyText.map((text) => text.replaceAll(/[^\x20-\x7e]/g, "?")),
    fc.constantFrom(
      "application/json",
      "application/json;as=Table;v=v1;g=meta.k8s.io",
      "application/json;as=Nope",
      "application/yaml",
      "*/*",
      "text/html",
      "application/vnd.kubernetes.protobuf",
      "application/json;q=0",
      ";;;,,,",
      "a/b;c=d;e",
    ),
  );
  const name = fc.constantFrom(
    "accept",
    "content-type",
    "authorization",
    "impersonate-user",
    "impersonate-group",
    "impersonate-uid",
    "impersonate-extra-x%zz",
    "impersonate-extra-",
    "user-agent",
    "accept-encoding",
    "expect",
    "if-none-match",
    "content-encoding",
    "cookie",
  );

  test("of any content", async () => {
    await fuzz(
      fc.tuple(
        fc.constantFrom(
          "/api/v1/pods",
          "/api/v1/namespaces/default/pods/one",
          "/apis",
          "/openapi/v3",
          "/openapi/v2",
          "/version",
        ),
        fc.array(fc.tuple(name, headerText), { maxLength: 4 }),
      ),
      ([path, pairs]) => check({ method: "GET", path, headers: Object.fromEntries(pairs) }),
    );
  });
});

test("afterwards the server is well, and nothing in its log is an error", async () => {
  expect((await server.call("GET", "/readyz")).text).toBe("ok");
  expect(errors).toEqual([]);
});

/** Without half surrogate pairs, which cannot be in a URL. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

/** A copy with the value at some place of it, and now and then one key more. */
function mutate(sample: object, at: number, value: unknown): unknown {
  const copy = structuredClone(sample);
  const places: [Record<string, unknown>, string][] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const key of Object.keys(node)) {
      places.push([node as Record<string, unknown>, key]);
      visit((node as Record<string, unknown>)[key]);
    }
  };
  visit(copy);
  const place = places[at % places.length];
  if (!place) return value;
  const [node, key] = place;
  if (at % 7 === 0) Object.defineProperty(node, "__proto__", { value, enumerable: true, configurable: true });
  else if (at % 11 === 0) delete node[key];
  else node[key] = value;
  return copy;
}
