import fc from "fast-check";
import { test } from "vitest";
import { builtInKinds } from "../../../src/api/kinds/built-in-kinds.ts";
import { pathOf, useFuzzServer } from "../../support/fuzz/fuzz-server.ts";
import { encodeText, nastyNumber, nastyText } from "../../support/fuzz/nasty-values.ts";

const { fuzz, expectWell } = useFuzzServer();

const someResource = fc.constantFrom(...builtInKinds.map(({ resource }) => resource));

test("paths, methods and queries of any shape", async () => {
  const root = fc.constantFrom(
    ...["/api/v1", "/apis/apps/v1", "/apis", "/api", "", "/openapi/v3", "/openapi/v2", "/livez", "/metrics"],
  );
  const segment = fc.oneof(
    fc.constantFrom(
      "one",
      "default",
      "pods",
      "status",
      "scale",
      "log",
      "proxy",
      "token",
      "namespaces",
      "watch",
    ),
    nastyText.map(encodeText),
    fc.constantFrom("%", "%zz", "%00", "%2f", "%c3%28", "..", "."),
  );
  const path = fc.oneof(
    fc
      .tuple(root, fc.array(segment, { maxLength: 6 }))
      .map(([start, rest]) => [start, ...rest].join("/") || "/"),
    fc
      .tuple(someResource, fc.array(segment, { maxLength: 3 }))
      .map(([resource, rest]) => [pathOf(resource), ...rest].join("/")),
  );
  const name = fc.constantFrom(
    ...[
      "limit",
      "continue",
      "labelSelector",
      "fieldSelector",
      "resourceVersionMatch",
      "sendInitialEvents",
      "watch",
    ],
    ...[
      "allowWatchBookmarks",
      "timeoutSeconds",
      "dryRun",
      "fieldValidation",
      "pretty",
      "includeObject",
      "timeout",
    ],
    ...[
      "gracePeriodSeconds",
      "propagationPolicy",
      "orphanDependents",
      "verbose",
      "exclude",
      "container",
      "follow",
    ],
  );
  const value = fc.oneof(
    nastyText,
    fc.constantFrom("true", "false", "1", "0", "All", "Strict", "Exact", "Orphan"),
  );
  const query = fc
    .array(fc.tuple(name, value), { maxLength: 4 })
    .map((pairs) => pairs.map(([key, text]) => `${key}=${encodeText(text)}`).join("&"));
  const method = fc.constantFrom(
    ...["GET", "GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"],
  );
  await fuzz(
    fc.record({
      method,
      path: fc.tuple(path, query).map(([start, rest]) => (rest ? `${start}?${rest}` : start)),
    }),
    5,
  );
});

test("selectors", async () => {
  const token = fc.constantFrom(
    ...["a", "app", "=", "==", "!=", "in", "notin", "(", ")", ",", "!", " ", "\\", "gt", ">", "<", "1"],
    ...["metadata.name", "spec.nodeName", "status.phase"],
  );
  const tokens = fc.array(token, { maxLength: 10 });
  const selector = fc.oneof(
    tokens.map((list) => list.join("")),
    tokens.map((list) => list.join(" ")),
    nastyText,
  );
  const parameter = fc.constantFrom("labelSelector", "fieldSelector");
  await fuzz(
    fc.tuple(someResource, parameter, selector).map(([resource, key, text]) => ({
      method: "GET",
      path: `${pathOf(resource)}?${key}=${encodeText(text)}`,
    })),
    2,
  );
});

test("continue tokens", async () => {
  const parts = fc.record({
    v: fc.constantFrom("meta.k8s.io/v1", "v0", 1),
    rv: fc.oneof(fc.integer({ min: -2, max: 100 }), fc.constantFrom(1.5, 1e21, "1", null)),
    start: fc.oneof(nastyText, nastyNumber),
  });
  const token = fc.oneof(
    nastyText,
    parts.map((token) => Buffer.from(JSON.stringify(token)).toString("base64url")),
  );
  await fuzz(
    fc.tuple(someResource, token).map(([resource, text]) => ({
      method: "GET",
      path: `${pathOf(resource)}?limit=2&continue=${encodeText(text)}`,
    })),
  );
});

test("resource versions", async () => {
  // A list as of the future waits for it, which is right but slow.
  const version = fc.oneof(
    nastyText.filter((text) => !/^\d{4,}$/.test(text)),
    fc.integer({ min: -1, max: 100 }).map(String),
  );
  const match = fc.constantFrom("", "Exact", "NotOlderThan", "Nope");
  const more = fc.constantFrom("", "&watch=1", "&limit=1", "&watch=1&sendInitialEvents=true");
  await fuzz(
    fc.tuple(someResource, version, match, more).map(([resource, text, how, rest]) => ({
      method: "GET",
      path: `${pathOf(resource)}?resourceVersion=${encodeText(text)}&resourceVersionMatch=${how}${rest}`,
    })),
  );
});

test("headers", async () => {
  const name = fc.constantFrom(
    ...[
      "accept",
      "content-type",
      "authorization",
      "user-agent",
      "accept-encoding",
      "expect",
      "if-none-match",
    ],
    ...[
      "impersonate-user",
      "impersonate-group",
      "impersonate-uid",
      "impersonate-extra-x%zz",
      "impersonate-extra-",
    ],
  );
  const value = fc.oneof(
    nastyText.map((text) => text.replaceAll(/[^\x20-\x7e]/g, "?")),
    fc.constantFrom(
      "application/json;as=Table;v=v1;g=meta.k8s.io",
      "application/json;as=Nope",
      "application/yaml",
    ),
    fc.constantFrom(
      "*/*",
      "text/html",
      "application/vnd.kubernetes.protobuf",
      "application/json;q=0",
      ";;;,,,",
    ),
  );
  const path = fc.constantFrom(
    "/api/v1/pods",
    "/api/v1/namespaces/default/pods/one",
    "/apis",
    "/openapi/v3",
    "/version",
  );
  await fuzz(
    fc.tuple(path, fc.array(fc.tuple(name, value), { maxLength: 4 })).map(([where, pairs]) => ({
      method: "GET",
      path: where,
      headers: Object.fromEntries(pairs),
    })),
    3,
  );
});

expectWell();
